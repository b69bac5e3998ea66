"""The gate `branch_clean`: the git checkout holds nothing that is not committed.

A home inside the checkout does not count: it is there because the gate is asked.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import Component, Delivery, Home, Serves, many, on

from ..programs import GitConfigurationError, run_git
from .verdict import failed, passed

NAMED = 3  # those that the reason names
STATE = len("?? ")  # before a path
SHOWN = 10  # uncommitted paths that the evidence names
# What stands uncommitted inside a submodule is asked of the submodule, with its own configuration.
STATUS = ("status", "--porcelain", "-z", "--branch", "--no-renames", "--ignore-submodules=dirty")
NO_COMMITS = "No commits yet on "


class BranchClean(Component):
    """Passes when the workspace is a git checkout without uncommitted work."""

    workers = 1
    serves = (Serves("gate", "branch_clean", traits={"read_only": True}),)

    def __init__(self, home: Home | None = None) -> None:
        self._home = home

    @on(GateEvaluate, where={"gate": "branch_clean"})
    def evaluate(self, event: GateEvaluate, delivery: Delivery) -> Iterator[GateEvaluated]:
        """Ask git."""
        if not event.workspace:
            yield failed(event, "the execution has no workspace: start it with --workspace")
            return
        try:
            status = run_git(
                event.workspace, *STATUS, *self._apart(event), timeout_s=event.timeout_s
            )
        except FileNotFoundError:
            yield failed(event, "git is not installed: install it, then resume")
            return
        except subprocess.TimeoutExpired:
            yield failed(event, f"git did not answer within {event.timeout_s:g} s: try again")
            return
        except GitConfigurationError as error:
            yield failed(event, str(error))
            return
        if status.returncode:
            problem = status.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
            yield failed(event, f"{event.workspace} is no git checkout: {problem[-1]}")
            return
        head, *changed = [e for e in status.stdout.decode(errors="replace").split("\0") if e]
        branch = head.removeprefix("## ").removeprefix(NO_COMMITS).partition("...")[0]
        if changed:
            paths = many(len(changed), "uncommitted path")
            named = ", ".join(each[STATE:] for each in changed[:NAMED])
            more = ", ..." if len(changed) > NAMED else ""
            them = "it" if len(changed) == 1 else "them"
            reason = f"{paths} on {branch} ({named}{more}): commit or stash {them}, then resume"
            yield failed(event, reason, branch=branch, changed=changed[:SHOWN])
        else:
            yield passed(event, branch=branch)

    def _apart(self, event: GateEvaluate) -> tuple[str, ...]:
        """The pathspec that leaves the home out, where it stands in the checkout."""
        if self._home is None:
            return ()
        said = run_git(event.workspace, "rev-parse", "--show-toplevel", timeout_s=event.timeout_s)
        top = Path(os.fsdecode(said.stdout).removesuffix("\n")).resolve()
        home = self._home.own.path.resolve()
        if said.returncode or not home.is_relative_to(top):
            return ()
        return ("--", ":/", f":(top,exclude,literal){home.relative_to(top)}")
