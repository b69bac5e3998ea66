"""The gate `command`: a program ends with 0."""

from typing import Any

import msgspec

from cortex.runtime.code.programs import (
    History,
    ProgramError,
    Seconds,
    Waiters,
    argv_of,
    run_program,
)
from cortex.runtime.code.repair import RepairError, work_tree
from cortex.runtime.functions import GateStep, StepError, Verdict, gate
from cortex.runtime.kernel import Component, Config, Home, key_names


class CommandParameters(msgspec.Struct, frozen=True):
    """What `command` takes."""

    run: str | list[str]  # words, or one text without ${...} that Cortex splits like a shell
    timeout_s: Seconds | None = None  # null: the timeout of the gate
    env: list[str] = []  # names of further environment variables that the program gets


class Command(Component):
    """Runs a program in the workspace, or in a goal's worktree; passes if it ends with 0."""

    rests = True
    workers = 2

    def __init__(
        self, config: Config, history: History | None = None, home: Home | None = None
    ) -> None:
        self._home = home
        self._shell = config.handlers.shell
        self._hidden = key_names(config)
        self._named = config.programs.environment
        self._waiters = Waiters(history)

    @gate("command", read_only=False)
    def evaluate(self, asked: CommandParameters, step: GateStep) -> Verdict:
        """Run it."""
        event = step.event
        timeout_s = min(asked.timeout_s or event.timeout_s, event.timeout_s)
        try:
            argv = argv_of(asked.run, self._shell.allow)
            place = str(work_tree(self._home, event)) if event.worktree else event.workspace
            outcome = run_program(
                argv,
                place,
                timeout_s,
                passed=(*self._named, *asked.env),
                hidden=self._hidden,
                wanted=self._waiters.wait_for(event, step.delivery),
            )
        except (ProgramError, RepairError) as error:
            raise StepError(str(error)) from error
        evidence: dict[str, Any] = {
            "command": list(argv),
            "exit_code": outcome.exit_code,
            "output": outcome.tail(),
        }
        if outcome.exit_code == 0:
            return Verdict.passed(**evidence)
        return Verdict.failed(f"{argv[0]} ended with {outcome.exit_code}", **evidence)
