"""Runs a program: argument lists, no shell, bounds on time and on the stored output.

CortexError
└── ProgramError                a program could not be run to its end
    ├── ProgramRefusedError        it is not allowed
    ├── ProgramTimeoutError        it took too long, and was ended
    ├── ProgramUnwantedError       it was no longer wanted, and was ended
    └── EffectInterruptedError     it was started once, and its end is unknown
"""

import contextlib
import os
import shlex
import signal
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, TypeAlias

import msgspec

from cortex.bus import CortexError, steady_s, with_fields
from cortex.runtime.isolation import environment_for

from .leash import LEASH
from .output import listen

Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]


TAIL_LINES = 20


TERM_S = 2.0  # for cleaning up; a lease lasts 5 s longer than its handler's time


LOOK_S = 0.02  # between two looks at a group that is ending


class ProgramOutcome(msgspec.Struct, frozen=True):
    """How a program ended."""

    exit_code: int  # negative: the signal that ended it
    stdout: bytes  # the last KEPT_BYTES
    stderr: bytes

    def tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines of what it said, errors after output."""
        said = self.stdout.decode(errors="replace") + self.stderr.decode(errors="replace")
        return "\n".join(said.splitlines()[-lines:])


def program_environment(
    passed: Collection[str] = (), hidden: Collection[str] = ()
) -> dict[str, str]:
    """What a program of a step is given: `environment_for`, and that Python leaves no bytecode.

    Python takes bytecode for fresh by the second and the size of its source: of a file that a
    model changes at once, tests would run what it was before.
    """
    return {"PYTHONDONTWRITEBYTECODE": "1"} | environment_for(passed, hidden)


def argv_of(command: str | Sequence[str], allow: Sequence[str]) -> tuple[str, ...]:
    """The words of *command*.

    An allowed program must be named as in *allow*: by a bare name, found on PATH, or by the same
    path. A file of the workspace with the name of an allowed program is not allowed.

    Raises:
        ProgramRefusedError: There are none, or the program is not among those that are allowed.
    """
    try:
        argv = tuple(shlex.split(command)) if isinstance(command, str) else tuple(command)
    except ValueError as error:
        raise ProgramRefusedError(repr(command), f"cannot be split into words: {error}") from None
    if not argv or not argv[0]:
        raise ProgramRefusedError("a command", "without words cannot be run: name a program")
    if allow and argv[0] not in allow:
        raise ProgramRefusedError(
            argv[0], f"is not among the programs that config.toml allows ({', '.join(allow)})"
        )
    return argv


def run_program(
    argv: Sequence[str],
    folder: str,
    timeout_s: float,
    *,
    passed: Collection[str] = (),
    hidden: Collection[str] = (),
    environment: Mapping[str, str] | None = None,
    wanted: Callable[[], bool] | None = None,
) -> ProgramOutcome:
    """Run a program to its end; if it or this process is cut short, all its children end with it.

    Args:
        argv: Its words.
        folder: Where it runs.
        timeout_s: How long it may take.
        passed: Variables that it gets beside what every program does.
        hidden: Variables that it does not get unless they are passed.
        environment: All its variables; if given, *passed* and *hidden* are ignored.
        wanted: Called repeatedly; if false, the program is ended.

    Raises:
        ProgramTimeoutError: It took longer than *timeout_s*.
        ProgramUnwantedError: It was not *wanted* any more.
        ProgramError: It cannot be started.
    """
    until = steady_s() + timeout_s
    with contextlib.ExitStack() as block:
        try:
            known = program_environment(passed, hidden) if environment is None else environment
            process = block.enter_context(LEASH.started(argv, folder, known))
        except (OSError, ValueError) as error:
            raise ProgramError(argv[0], cannot_start(error)) from None
        said, in_time = None, True
        try:
            said = listen(process, timeout_s, wanted)
        finally:
            if said is None:
                in_time = steady_s() < until
                end_group(process.pid)
                process.wait()
    if said is None:
        raise _cut_short(argv[0], timeout_s, in_time=in_time)
    return ProgramOutcome(process.returncode, *said)


def _cut_short(program: str, timeout_s: float, *, in_time: bool) -> "ProgramError":
    return ProgramUnwantedError(program) if in_time else ProgramTimeoutError(program, timeout_s)


def cannot_start(error: OSError | ValueError) -> str:
    """Why a program was not started; a ValueError means that a word has a zero byte."""
    return f"cannot be started: {getattr(error, 'strerror', None) or error}"


def end_group(group: int) -> None:
    """End a program and all it started: they are asked to, and killed where they do not."""
    until = steady_s() + TERM_S
    try:
        os.killpg(group, signal.SIGTERM)
        while steady_s() < until:
            os.killpg(group, 0)
            time.sleep(LOOK_S)
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return  # all of it ended by itself


@with_fields
class ProgramError(CortexError):
    """A program could not be run to its end.

    Attributes:
        kind: One word for programs, in the failure of the step that ran it.
        retry: False where another attempt cannot help.
    """

    kind = "failed"
    retry = True

    program: str
    problem: str

    says = "{program} {problem}"


class ProgramRefusedError(ProgramError):
    """What was asked for is no program that may be run; trying again cannot help."""

    kind = "refused"
    retry = False


class ProgramTimeoutError(ProgramError, TimeoutError):
    """A program took longer than it may, and was ended with all it had started."""

    kind = "timeout"

    def __init__(self, program: str, timeout_s: float) -> None:
        super().__init__(program, f"was ended after {timeout_s:g} s")
        self.args = (program, timeout_s)  # what this constructor takes, so that it pickles


class ProgramUnwantedError(ProgramError):
    """Whoever asked for a program does not wait for it any more; it was ended."""

    kind = "interrupted"
    retry = False

    def __init__(self, program: str) -> None:
        super().__init__(program, "was ended: nothing waits for it any more")
        self.args = (program,)


class EffectInterruptedError(ProgramError):
    """The program was started once and its end is not known."""

    kind = "interrupted"
