"""The gate `branch_clean`: the git checkout has no uncommitted changes.

A home inside the checkout does not count, because Cortex itself created it.
"""

import os
import subprocess
from pathlib import Path

from cortex.bus.events import GateEvaluate
from cortex.runtime.code.programs import GitConfigurationError, run_git
from cortex.runtime.functions import GateStep, StepError, Verdict, gate
from cortex.runtime.kernel import Component, Home, many

NAMED = 3  # paths named in the reason
STATE = len("?? ")  # before a path
SHOWN = 10  # uncommitted paths in the evidence
# Changes inside a submodule are checked in the submodule, with its own configuration.
STATUS = ("status", "--porcelain", "-z", "--branch", "--no-renames", "--ignore-submodules=dirty")
NO_COMMITS = "No commits yet on "


class BranchClean(Component):
    """Passes if the workspace is a git checkout without uncommitted changes."""

    rests = True

    def __init__(self, home: Home | None = None) -> None:
        self._home = home

    @gate("branch_clean")
    def evaluate(self, step: GateStep) -> Verdict:
        """Ask git."""
        event = step.event
        if not event.workspace:
            raise StepError("the execution has no workspace: start it with --workspace")
        try:
            status = run_git(
                event.workspace, *STATUS, *self._apart(event), timeout_s=event.timeout_s
            )
        except FileNotFoundError:
            raise StepError("git is not installed: install it, then resume") from None
        except subprocess.TimeoutExpired:
            problem = f"git did not answer within {event.timeout_s:g} s: try again"
            raise StepError(problem) from None
        except GitConfigurationError as error:
            raise StepError(str(error)) from error
        if status.returncode:
            said = status.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
            raise StepError(f"{event.workspace} is not a git checkout: {said[-1]}")
        head, *changed = [e for e in status.stdout.decode(errors="replace").split("\0") if e]
        branch = head.removeprefix("## ").removeprefix(NO_COMMITS).partition("...")[0]
        if changed:
            paths = many(len(changed), "uncommitted path")
            named = ", ".join(each[STATE:] for each in changed[:NAMED])
            more = ", ..." if len(changed) > NAMED else ""
            them = "it" if len(changed) == 1 else "them"
            reason = f"{paths} on {branch} ({named}{more}): commit or stash {them}, then resume"
            return Verdict.failed(reason, branch=branch, changed=changed[:SHOWN])
        return Verdict.passed(branch=branch)

    def _apart(self, event: GateEvaluate) -> tuple[str, ...]:
        """The pathspec that excludes the home, if it is in the checkout."""
        if self._home is None:
            return ()
        said = run_git(event.workspace, "rev-parse", "--show-toplevel", timeout_s=event.timeout_s)
        top = Path(os.fsdecode(said.stdout).removesuffix("\n")).resolve()
        home = self._home.own.path.resolve()
        if said.returncode or not home.is_relative_to(top):
            return ()
        return ("--", ":/", f":(top,exclude,literal){home.relative_to(top)}")
