"""The gate `execution_context_exists`: nothing runs without a trigger, a goal and a workspace."""

from pathlib import Path

from cortex.runtime.functions import GateStep, Verdict, gate
from cortex.runtime.kernel import Component


class ExecutionContextExists(Component):
    """Passes when the execution has a recorded trigger, a goal and a workspace."""

    rests = True

    @gate("execution_context_exists")
    def evaluate(self, step: GateStep) -> Verdict:
        """Name what is missing, if anything is."""
        event = step.event
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
            how = " (`--goal TEXT`)" if "goal" in missing else ""
            lacks = " and no ".join(missing)
            reason = f"the execution has no {lacks}: start another with one{how}"
            return Verdict.failed(reason, **evidence)
        return Verdict.passed(**evidence)


def _is_folder(workspace: str) -> bool:
    try:
        return bool(workspace) and Path(workspace).is_dir()
    except OSError:  # forbidden, or longer than a path can be
        return False
