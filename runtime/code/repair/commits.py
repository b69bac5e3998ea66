"""One commit a step: its message, its search, and its push to a remote."""

import re
from collections.abc import Collection

from ..programs import GitGrant
from .checkout import Sources
from .errors import CheckoutUnusableError, GitFailedError
from .git import Git
from .worktree import Worktree, head_of

EXECUTION, STEP = "Cortex-Execution", "Cortex-Step"
LONGEST_SUBJECT = 100  # characters
LONGEST_MESSAGE = 8_000
_NO_AUTHOR = "no name to commit under: set one with `git config user.name` and `user.email`"
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S")
# The other side of a push to a folder of this machine, which the checkout named: git does not hand
# our settings on to it, and it has hooks and a configuration of its own. Words of ours alone.
_RECEIVE_HERE = (
    "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand= "
    "-c receive.denyCurrentBranch=refuse -c receive.autogc=false receive-pack"
)
_OWN_IDENTITY = ("-c", "user.useConfigOnly=true")  # never one made of user and host name


def message_of(text: str, execution_id: str, step_id: str) -> str:
    """The message of the commit that a step makes: *text*, and trailers that say whose it is."""
    lines = [line.rstrip() for line in text.replace("\0", "").strip().splitlines()]
    subject = lines[0] if lines else "Change"
    body = "\n".join(lines[1:])[:LONGEST_MESSAGE].strip()
    if len(subject) > LONGEST_SUBJECT:
        cut = subject.rfind(" ", LONGEST_SUBJECT // 2, LONGEST_SUBJECT)
        cut = cut if cut > 0 else LONGEST_SUBJECT - 1
        body = f"…{subject[cut:].lstrip()[:LONGEST_MESSAGE]}\n\n{body}".strip()
        subject = f"{subject[:cut]}…"
    trailers = f"{EXECUTION}: {execution_id}\n{STEP}: {step_id}\n"
    last = body.rpartition("\n\n")[2].splitlines()
    joined = "\n" if last and all(map(_TRAILER.match, last)) else "\n\n"
    return f"{subject}\n\n{body}{joined if body else ''}{trailers}"


def trailers_of(message: str) -> dict[str, str]:
    """The trailers at the end of a commit's message, the last of each name."""
    last = message.strip().rpartition("\n\n")[2].splitlines()
    return dict(line.split(": ", 1) for line in last if _TRAILER.match(line))


def made_by(git: Git, branch: str, execution_id: str, step_id: str) -> str:
    """The commit at the head of *branch*, if that step made it; else "" ."""
    head = head_of(git, branch)
    if not head:
        return ""
    said = trailers_of(git.run("log", "-1", "--format=%B", head, "--"))
    return head if (said.get(EXECUTION), said.get(STEP)) == (execution_id, step_id) else ""


def check_branch(sources: Sources, tree: Worktree, branch: str) -> None:
    """Refuse a branch that our commit must not use.

    Raises:
        CheckoutUnusableError: The name is invalid, or the branch is checked out or exists.
    """
    git = sources.git
    if git.asked("check-ref-format", "--branch", branch).returncode or branch.startswith("-"):
        raise CheckoutUnusableError(f"cannot get a commit: {branch!r} is not a name for a branch")
    if tree.branch == branch:
        return
    listed = git.run("worktree", "list", "--porcelain").splitlines()
    if f"branch refs/heads/{branch}" in listed:
        raise CheckoutUnusableError(
            f"get no commit on {branch}, which is checked out: name another branch"
        )
    if head_of(git, branch):
        raise CheckoutUnusableError(f"have a branch {branch} already: name a new one")


def commit(
    tree: Worktree, branch: str, message: str, *, hooks: bool, hidden: Collection[str] = ()
) -> str:
    """Commit what is staged on *branch*, which the worktree's own is renamed to.

    Hooks do not get the variables that are *hidden*.

    Raises:
        GitFailedError: There is no name to commit under, or a hook refused it.
    """
    who = tree.git.asked(*_OWN_IDENTITY, "var", "GIT_AUTHOR_IDENT")
    if who.returncode:
        raise GitFailedError("commit", _NO_AUTHOR)
    if tree.branch != branch:
        tree.git.run("branch", "--move", tree.branch, branch)
    words = ("commit", "--quiet", "--cleanup=whitespace", f"--message={message}")
    if hooks:
        tree.git.run(*words, grant=GitGrant(hooks=True, hidden=frozenset(hidden)))
    else:
        tree.git.run(*words, "--no-verify")
    return tree.head


def push(git: Git, remote: str, branch: str, *, hooks: bool, hidden: Collection[str] = ()) -> None:
    """Push *branch* to *remote*, unless it is there already. Never by force.

    A remote that is a folder of this machine runs none of its hooks.

    Neither hooks nor transport programs get the *hidden* variables.

    Raises:
        CheckoutUnusableError: There is no such remote.
        GitFailedError: The remote rejected it, or cannot be reached.
    """
    remotes = git.run("remote").split()
    if remote not in remotes:
        there = f"only {', '.join(remotes)}" if remotes else "none"
        raise CheckoutUnusableError(f"have no remote {remote!r}, {there}: name one that exists")
    ref = f"refs/heads/{branch}:refs/heads/{branch}"
    quiet = ["push", "--quiet", "--no-follow-tags", "--recurse-submodules=no"]
    quiet.append("--verify" if hooks else "--no-verify")
    if any(map(_is_here, git.run("remote", "get-url", "--push", "--all", remote).splitlines())):
        quiet.append(f"--receive-pack={_RECEIVE_HERE}")
    grant = GitGrant(hooks=hooks, remote=True, hidden=frozenset(hidden))
    git.run(*quiet, "--", remote, ref, grant=grant)


def _is_here(url: str) -> bool:
    """Whether an address of a remote means a folder of this machine."""
    before, colon, _ = url.partition(":")
    return url.startswith("file:") or not colon or "/" in before
