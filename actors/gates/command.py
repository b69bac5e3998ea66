"""The gate `command`: a program ends with 0."""

from collections.abc import Iterator
from typing import Any

import msgspec

from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import Component, Config, Delivery, Home, Serves, key_names, on

from ..handlers.repair import RepairError, work_tree
from ..parameters import Seconds
from ..programs import ProgramError, argv_of, run_program
from ..programs.wanted import History, Waiters
from .verdict import failed, parameters_of, passed


class CommandParameters(msgspec.Struct, frozen=True):
    """What `command` takes."""

    run: str | list[str]  # a list of words; or a text without references, split as a shell would
    timeout_s: Seconds | None = None
    env: list[str] = []  # more variables that the program gets


class Command(Component):
    """Passes when the program ends with 0; it runs in the workspace, or in a goal's work tree."""

    workers = 2
    serves = (Serves("gate", "command", CommandParameters, traits={"read_only": False}),)

    def __init__(
        self, config: Config, history: History | None = None, home: Home | None = None
    ) -> None:
        self._home = home
        self._shell = config.handlers.shell
        self._hidden = key_names(config)
        self._named = config.programs.environment
        self._waiters = Waiters(history)

    @on(GateEvaluate, where={"gate": "command"})
    def evaluate(self, event: GateEvaluate, delivery: Delivery) -> Iterator[GateEvaluated]:
        """Run it."""
        asked = parameters_of(event, CommandParameters)
        if isinstance(asked, GateEvaluated):
            yield asked
            return
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
                wanted=self._waiters.wait_for(event, delivery),
            )
        except (ProgramError, RepairError) as error:
            yield failed(event, str(error))
            return
        evidence: dict[str, Any] = {
            "command": list(argv),
            "exit_code": outcome.exit_code,
            "output": outcome.tail(),
        }
        if outcome.exit_code == 0:
            yield passed(event, **evidence)
        else:
            yield failed(event, f"{argv[0]} ended with {outcome.exit_code}", **evidence)
