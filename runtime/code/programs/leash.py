"""Ends programs when this process dies: a small process beside it notices, and kills them.

A killed process cannot end its programs, and a program in a group of its own does not notice. So
the small process gets each running group, by a pipe that closes when this process ends in any way.
It is started with the first program.

A program begins only when the small process knows its group: until then a shell runs
in its place, which waits for one line and ends if this process dies.
"""

import atexit
import contextlib
import errno
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cortex.runtime.isolation import start_python

from .output import start

END_S = 5.0  # for the small process, once nothing runs any more
# A constant: the program's words are its arguments, and the shell reads none of them.
_UNTIL_HELD = ("/bin/sh", "-c", 'read -r held && exec "$@" </dev/null', "sh")


class Leash:
    """Kills groups of programs that run when this process ends."""

    def __init__(self) -> None:
        self._telling = threading.Lock()
        self._groups: set[int] = set()
        self._watcher: subprocess.Popen[bytes] | None = None

    @contextlib.contextmanager
    def started(
        self, argv: Sequence[str], folder: str, environment: Mapping[str, str]
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start a program as `start` does; if this process ends within the block, kill its group.

        Raises:
            OSError: It cannot be started.
            ValueError: A word holds a zero byte.
        """
        _look_up(argv[0], folder, environment)
        process = start((*_UNTIL_HELD, *argv), folder, environment, stdin=subprocess.PIPE)
        try:
            self._tell(process.pid, held=True)
            _let_go(process)
            yield process
        finally:
            self._tell(process.pid, held=False)

    def close(self) -> None:
        """End the small process, which kills what is still held."""
        with self._telling:
            self._groups.clear()
            self._part()

    def _tell(self, group: int, *, held: bool) -> None:
        with self._telling:
            (self._groups.add if held else self._groups.discard)(group)
            if self._write(group if held else -group):
                return
            self._part()  # somebody ended it
            if not self._groups:
                return
            with contextlib.suppress(OSError):  # no process to be had: programs may outlive us
                self._watcher = _watcher()
                for each in self._groups:
                    self._write(each)

    def _write(self, number: int) -> bool:
        if self._watcher is None or self._watcher.stdin is None:
            return False
        try:
            self._watcher.stdin.write(b"%d\n" % number)
            self._watcher.stdin.flush()
        except OSError:
            return False
        return True

    def _part(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is None or watcher.stdin is None:
            return
        with contextlib.suppress(OSError):
            watcher.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            watcher.wait(END_S)


def _look_up(program: str, folder: str, environment: Mapping[str, str]) -> None:
    """Say as a system call would why *program* cannot be started; the shell would only exit."""
    said = environment.get("PATH", os.defpath)
    places = [""] if "/" in program else said.split(os.pathsep)
    files = [path for place in places if (path := Path(folder, place, program)).is_file()]
    if not any(os.access(path, os.X_OK) for path in files):
        code = errno.EACCES if files else errno.ENOENT
        raise OSError(code, os.strerror(code), program)


def _let_go(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError), process.stdin as line:  # somebody ended it
            line.write(b"\n")


def _watcher() -> subprocess.Popen[bytes]:
    words = ("-S", "-c", _WATCH)
    return start_python(*words, output=subprocess.DEVNULL, folder="/", own_session=True)


LEASH = Leash()  # of this process: all its programs share the small one
atexit.register(LEASH.close)

# When a process began is compared, since its id may be another's by then. Where a group is left
# without its first process, no other can have the id.
_WATCH = """
import os, signal, sys

def born(group):
    try:
        with open(f"/proc/{group}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19]
    except OSError:
        return None

held = {}
for line in sys.stdin:
    group = int(line)
    if group > 0:
        held[group] = born(group)
    else:
        held.pop(-group, None)
for group, when in held.items():
    if born(group) in (when, None):
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:
            pass
"""
