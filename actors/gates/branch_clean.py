"""The gate `branch_clean`: the git checkout holds nothing that is not committed."""

import subprocess
from collections.abc import Iterator

from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import Component, Delivery, Serves, on

from .verdict import failed, passed

SHOWN = 10  # uncommitted paths that the evidence names


class BranchClean(Component):
    """Passes when the workspace is a git checkout without uncommitted work."""

    workers = 1
    serves = (Serves("gate", "branch_clean", traits={"read_only": True}),)

    @on(GateEvaluate, where={"gate": "branch_clean"})
    def evaluate(self, event: GateEvaluate, delivery: Delivery) -> Iterator[GateEvaluated]:
        """Ask git."""
        if not event.workspace:
            yield failed(event, "the execution has no workspace: start it with --workspace")
            return
        try:
            status = subprocess.run(
                ["git", "-C", event.workspace, "status", "--porcelain", "-z", "--branch"],
                capture_output=True,
                timeout=event.timeout_s,
                check=False,
            )
        except FileNotFoundError:
            yield failed(event, "git is not installed: install it, then resume")
            return
        except subprocess.TimeoutExpired:
            yield failed(event, f"git did not answer within {event.timeout_s:g} s: try again")
            return
        if status.returncode:
            problem = status.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
            yield failed(event, f"{event.workspace} is no git checkout: {problem[-1]}")
            return
        head, *changed = [e for e in status.stdout.decode(errors="replace").split("\0") if e]
        branch = head.removeprefix("## ").partition("...")[0]
        if changed:
            reason = f"{len(changed)} uncommitted paths on {branch}: commit or stash them, resume"
            yield failed(event, reason, branch=branch, changed=changed[:SHOWN])
        else:
            yield passed(event, branch=branch)
