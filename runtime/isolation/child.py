"""The one way in which Cortex starts a Python of its own, speaks with it, and ends it.

A Python that is started with `-c` or `-m` looks for modules in the working folder first, and one
that reads its environment looks wherever that says: a `msgspec.py` or `sitecustomize.py` in a
checkout would run inside Cortex, with its keys. An isolated one does neither.
"""

import contextlib
import os
import signal
import site
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from cortex.bus import lasting

from .environment import environment_for
from .framing import FrameReader, frame_of
from .process import given

FRAME_BYTES = (1 << 32) - 1  # more has no length


def interpreter(*words: str) -> list[str]:
    """The words that start this Python isolated, with *words* as its own arguments.

    The folder one stands in, that of a script, and every `PYTHON...` variable are without effect.
    The user's own site-packages are looked into only where Cortex itself is installed there.
    """
    return [sys.executable, *_flags(), *words]


def start_python(
    *words: str,
    environment: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    output: int | None = None,
    folder: str | Path | None = None,
    descriptors: Sequence[int] = (),
    own_session: bool = False,
    confined: Callable[[list[str]], list[str]] = list,
) -> subprocess.Popen[bytes]:
    """Start a Python of Cortex's own; its standard input is a pipe.

    Args:
        words: Its arguments, such as "-c" and a program.
        environment: What it is started with; the ordinary variables unless said.
        secrets: The environment that `enter_process` takes from its standard input.
        output: Where both its outputs go; unless said, to our standard error.
        folder: Where it works.
        descriptors: Of ours that it has, too.
        own_session: Whether it ignores Ctrl-C of the parent, and ends with all its child processes.
        confined: Gives the words that start it within a sandbox.

    Raises:
        OSError: It cannot be started.
    """
    # A Ctrl-C goes to all processes of a terminal. What it finds in the middle of starting would
    # die of it with a traceback, so it is blocked until `enter_child` ignores it.
    with contextlib.nullcontext() if own_session else _interrupts_blocked():
        process = subprocess.Popen(
            confined(interpreter(*words)),
            stdin=subprocess.PIPE,
            stdout=2 if output is None else output,  # a result is nothing that a child prints
            stderr=output,
            env=environment_for() if environment is None else environment,
            cwd=folder,
            pass_fds=descriptors,
            start_new_session=own_session,
        )
    if secrets is not None and process.stdin is not None:
        with contextlib.suppress(OSError):  # it has ended already, as shows when it is asked
            process.stdin.write(given(secrets))
            process.stdin.flush()
    return process


class ChildProcess:
    """A child that speaks in frames; `enter_child` is its side of it.

    Args:
        main: The module whose `main` is the child.
        secrets: Its environment, beside what it is started with.
        flags: More words for its Python.
        limit_bytes: Of a frame that it sends.
        environment: As for `start_python`, like all that follows.
        output: As there.
        folder: As there.
        own_session: As there.
        confined: As there.
    """

    def __init__(
        self,
        main: str,
        secrets: Mapping[str, str],
        *,
        flags: Sequence[str] = (),
        limit_bytes: int = FRAME_BYTES,
        environment: Mapping[str, str] | None = None,
        output: int | None = None,
        folder: str | Path | None = None,
        own_session: bool = False,
        confined: Callable[[list[str]], list[str]] = list,
    ) -> None:
        self.descriptor, theirs = os.pipe()  # of the frames that it sends
        self.frames = FrameReader(self.descriptor, limit_bytes)
        self._own_session = own_session
        program = f"from {main} import main; main()"
        try:
            self._process = start_python(
                *(*flags, "-c", program, str(theirs)),
                environment=environment,
                secrets=secrets,
                output=output,
                folder=folder,
                descriptors=(theirs,),
                own_session=own_session,
                confined=confined,
            )
        except BaseException:
            os.close(self.descriptor)
            raise
        finally:
            os.close(theirs)

    def send(self, content: msgspec.Struct) -> None:
        """Send it a frame.

        Raises:
            OSError: It has ended.
        """
        if self._process.stdin is not None:
            self._process.stdin.write(frame_of(content))
            self._process.stdin.flush()

    def let_go(self) -> None:
        """Close its standard input, at which it comes to its end."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):  # what was not sent is for a child that is gone
                self._process.stdin.close()

    def kill(self) -> None:
        """Kill it, and with a session of its own all that it started."""
        if not self._own_session:
            self._process.kill()
        elif self._process.returncode is None:  # else its number may be another's by now
            signal_group(self._process.pid)

    def has_ended(self) -> bool:
        """Whether it is gone."""
        return self._process.poll() is not None

    def wait(self) -> int:
        """How it ended, once it has: as `ending` tells in words."""
        return self._process.wait()

    def end(self, quit_s: float = 0.0) -> int:
        """Let it end by itself within *quit_s*, or kill it; how it ended."""
        self.let_go()
        if quit_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(lasting(quit_s))
        self.kill()
        code = self._process.wait()
        os.close(self.descriptor)
        return code


def signal_group(leader: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process that leads a session, and to all that it started there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def ending(code: int) -> str:
    """The exit code of a process in words."""
    if code < 0:
        return f"it was ended by {signal.Signals(-code).name}"
    if code > 128 and code - 128 in set(signal.Signals):  # as bubblewrap says it
        return f"it was ended by {signal.Signals(code - 128).name}"
    return f"it ended by itself, with exit code {code}"


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _flags() -> tuple[str, ...]:
    return ("-P", "-E") if _in_user_site() else ("-I",)


def _in_user_site() -> bool:
    if not site.ENABLE_USER_SITE:
        return False
    return Path(__file__).is_relative_to(site.getusersitepackages())
