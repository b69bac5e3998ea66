"""The action `shell`: runs a program in the workspace, once."""

from pathlib import Path

import msgspec

from cortex.runtime.code.programs import (
    EffectInterruptedError,
    History,
    ProgramError,
    ProgramOutcome,
    Programs,
    Seconds,
    argv_of,
)
from cortex.runtime.code.repair import RepairError, work_tree
from cortex.runtime.functions import ActionStep, EffectUnknownError, StepError, action
from cortex.runtime.kernel import Component, Config, Home, Serves
from cortex.runtime.log import Blobs
from cortex.runtime.secrets import Mask

INLINE_BYTES = 16 * 1024  # of output in the event; the whole output is a blob
SAID_LINES = 3  # of a failed program's output, in the error
SAID_CHARS = 200  # of each of these lines, the last ones
UNKEPT = "a worker without a home began it, and kept no record of it"


class ShellParameters(msgspec.Struct, frozen=True):
    """Run a program, without a shell, and get its exit code and what it printed."""

    run: str | list[str]  # words, or one text without ${...} that Cortex splits like a shell
    folder: str = ""  # where it runs, relative to the workspace
    may_fail: bool = False  # True: an exit code other than 0 does not fail the step
    timeout_s: Seconds | None = None  # null: the limit of the configuration
    env: list[str] = []  # names of further environment variables that the program gets


class ShellResult(msgspec.Struct, frozen=True):
    """What `shell` gives."""

    exit_code: int
    stdout: str  # only the end if it is long
    stderr: str  # only the end if it is long
    stdout_blob: str  # digest of the blob with the last MiB of the output
    stderr_blob: str  # the same for stderr


class Shell(Component):
    """Runs a program, once for each attempt of a step."""

    rests = True
    workers = 4
    recovers = True  # the small process beside each program records its end

    @classmethod
    def announces(cls, config: Config) -> tuple[Serves, ...]:
        """The action, with the effect that its programs have in this home."""
        effect = config.handlers.shell.effect
        return tuple(msgspec.structs.replace(each, effect=effect) for each in cls.serves)

    def __init__(
        self,
        config: Config,
        blobs: Blobs,
        home: Home | None,
        history: History | None = None,
        mask: Mask | None = None,
    ) -> None:
        self._home, self._blobs = home, blobs
        self._effect = config.handlers.shell.effect
        self._programs = Programs(config, home, history, mask)

    def on_start(self) -> None:
        """Remove records of old runs."""
        self._programs.tidy()

    def on_stop(self) -> None:
        """Remove everything if there is no home."""
        self._programs.close()

    @action("shell", effect="once")
    def execute(self, asked: ShellParameters, step: ActionStep) -> ShellResult:
        """Run it, or find out how it ended."""
        event, programs, again = step.event, self._programs, self._effect != "once"
        if step.begun and not programs.are_kept:
            raise EffectUnknownError(UNKEPT)
        timeout_s = min(asked.timeout_s or programs.timeout_s, event.timeout_s)
        try:
            folder = str(Path(event.workspace or ".", asked.folder).absolute())
            if event.worktree:
                folder = str(work_tree(self._home, event, asked.folder))
            argv = argv_of(asked.run, programs.allow)
            outcome = programs.effects.run(
                step.effect_key(),
                argv,
                folder,
                timeout_s,
                passed=(*programs.named, *asked.env),
                hidden=programs.hidden,
                wanted=programs.wait_for(event, step.delivery),
                again=again,
                stream=event.stream(),
            )
        except EffectInterruptedError as error:
            raise StepError.of(error) if again else EffectUnknownError(str(error)) from error
        except (ProgramError, RepairError) as error:
            raise StepError.of(error) from error
        if outcome.exit_code and not asked.may_fail:
            raise StepError(_problem(argv[0], outcome))
        step.summary = f"{argv[0]} ended with {outcome.exit_code}"
        return ShellResult(
            outcome.exit_code,
            _end(outcome.stdout),
            _end(outcome.stderr),
            self._blobs.put(outcome.stdout),
            self._blobs.put(outcome.stderr),
        )


def _problem(program: str, outcome: ProgramOutcome) -> str:
    said = outcome.tail(SAID_LINES).splitlines()
    ended = f"{program} ended with {outcome.exit_code}"
    return f"{ended}: {' | '.join(line[-SAID_CHARS:] for line in said)}" if said else ended


def _end(output: bytes) -> str:
    # A split character is dropped: its replacement would take more bytes.
    return output[-INLINE_BYTES:].decode(
        errors="ignore" if len(output) > INLINE_BYTES else "replace"
    )
