"""Running a program: argument lists, no shell, a bound on time and on the output that is kept."""

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from .errors import ProgramError, ProgramRefusedError, ProgramTimeoutError

KEPT_BYTES = 1 << 20  # of standard output and of standard error, the last of each
TAIL_LINES = 20


class ProgramOutcome(msgspec.Struct, frozen=True):
    """How a program ended."""

    exit_code: int  # negative: the signal that ended it
    stdout: bytes  # the last KEPT_BYTES
    stderr: bytes

    def tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines of what it said, errors after output."""
        said = self.stdout.decode(errors="replace") + self.stderr.decode(errors="replace")
        return "\n".join(said.splitlines()[-lines:])


def argv_of(command: str | Sequence[str], allow: Sequence[str]) -> tuple[str, ...]:
    """The words of *command*.

    Raises:
        ProgramRefusedError: There are none, or the program is not among those that are allowed.
    """
    try:
        argv = tuple(shlex.split(command)) if isinstance(command, str) else tuple(command)
    except ValueError as error:
        raise ProgramRefusedError(repr(command), f"cannot be split into words: {error}") from None
    if not argv or not argv[0]:
        raise ProgramRefusedError("a command", "without words cannot be run: name a program")
    if allow and Path(argv[0]).name not in allow:
        raise ProgramRefusedError(
            argv[0], f"is not among the programs that config.toml allows ({', '.join(allow)})"
        )
    return argv


def run_program(argv: Sequence[str], folder: str, timeout_s: float) -> ProgramOutcome:
    """Run a program in *folder* to its end; everything it started ends with it on a timeout.

    Raises:
        ProgramTimeoutError: It took longer than *timeout_s*.
        ProgramError: It cannot be started.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                list(argv),
                cwd=folder or None,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,  # so that it can be ended with all it started
            )
        except (OSError, ValueError) as error:
            raise ProgramError(argv[0], cannot_start(error)) from None
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            end_group(process.pid)
            process.wait()
            raise ProgramTimeoutError(argv[0], timeout_s) from None
        return ProgramOutcome(process.returncode, _last(out), _last(err))


def cannot_start(error: OSError | ValueError) -> str:
    """Why a program was not started; a ValueError says that a word holds a zero byte."""
    return f"cannot be started: {getattr(error, 'strerror', None) or error}"


def end_group(group: int) -> None:
    """Kill a program and all it started."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself


def _last(file: IO[bytes]) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - KEPT_BYTES))
    return file.read()
