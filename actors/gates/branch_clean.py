"""The gate `branch_clean`: the git checkout holds nothing that is not committed."""

import os
import subprocess
from collections.abc import Iterator

from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import Component, Delivery, Serves, on

from .verdict import failed, passed

SHOWN = 10  # uncommitted paths that the evidence names
# A checkout's own configuration may name a program as file system monitor: it must not run.
STATUS = ("-c", "core.fsmonitor=false", "status", "--porcelain", "-z", "--branch", "--no-renames")
# Inside a hook git sets these, and they would win over the workspace.
OF_ANOTHER_CHECKOUT = frozenset(
    ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY")
)
NO_COMMITS = "No commits yet on "


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
                ["git", "-C", event.workspace, *STATUS],
                capture_output=True,
                timeout=event.timeout_s,
                check=False,
                env=_environment(),
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
        branch = head.removeprefix("## ").removeprefix(NO_COMMITS).partition("...")[0]
        if changed:
            reason = (
                f"{len(changed)} uncommitted paths on {branch}: commit or stash them, then resume"
            )
            yield failed(event, reason, branch=branch, changed=changed[:SHOWN])
        else:
            yield passed(event, branch=branch)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in OF_ANOTHER_CHECKOUT}
