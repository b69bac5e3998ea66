"""The gate `execution_context_exists`: nothing runs without a trigger, a goal and a workspace."""

from collections.abc import Iterator
from pathlib import Path

from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import Component, Delivery, Serves, on

from .verdict import failed, passed


class ExecutionContextExists(Component):
    """Passes when a recorded trigger, a goal and a workspace stand behind the execution."""

    workers = 1
    serves = (Serves("gate", "execution_context_exists", traits={"read_only": True}),)

    @on(GateEvaluate, where={"gate": "execution_context_exists"})
    def evaluate(self, event: GateEvaluate, delivery: Delivery) -> Iterator[GateEvaluated]:
        """Name what is missing, if anything is."""
        missing = [
            name
            for name, there in (
                ("trigger", bool(event.trigger)),
                ("goal", bool(event.goal)),
                ("workspace", _is_folder(event.workspace)),
            )
            if not there
        ]
        evidence = {"trigger": event.trigger, "goal": event.goal, "workspace": event.workspace}
        if missing:
            reason = f"the execution has no {' and no '.join(missing)}: start it with one"
            yield failed(event, reason, **evidence)
        else:
            yield passed(event, **evidence)


def _is_folder(workspace: str) -> bool:
    try:
        return bool(workspace) and Path(workspace).is_dir()
    except OSError:  # forbidden, or longer than a path can be
        return False
