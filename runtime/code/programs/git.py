"""Running git: the one place that does, so that no checkout's configuration starts a program.

Before each command the configuration is read, without conditions, and what is no data in it is
overridden. Where nothing was granted, that holds for the user's own configuration as well; in a
commit or a push that was granted the user's own ways to sign and to reach a remote are used.
"""

import contextlib
import os
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from cortex.runtime.isolation import AT_REMOTE, TO_SIGN, environment_for, signal_group

from .git_configuration import (
    ALWAYS,
    HOOKS_PATH,
    INCLUDES,
    NO_HOOKS,
    NOTHING_GRANTED,
    OF_THE_CHECKOUT,
    WORK_TREE,
    Setting,
    listed,
    overridden,
    protocols,
)
from .in_use import using
from .running import ProgramError

FILES = 100  # of configuration that include each other
_LIST = ("config", "--list", "-z")
_ENVIRONMENT = {
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PROXY_COMMAND": "",  # the first proxy that is named wins, so none can be overridden
    "GIT_NO_LAZY_FETCH": "1",  # objects that are missing are not fetched
}
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",  # the index is not written, so that no hook is told of it
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
}
_VALUE = "CORTEX_GIT_{}"  # variables with the values of overrides


class GitGrant(msgspec.Struct, frozen=True):
    """What a commit or a push may use beside git itself; without one, nothing."""

    hooks: bool = False  # those in the repository's folder of hooks, or the user's own
    remote: bool = False  # it gets what logs in at a remote, not only what signs
    hidden: frozenset[str] = frozenset()  # variables that it does not get in any case


class GitConfigurationError(ProgramError):
    """A checkout's configuration is such that git is not run."""

    def __init__(self, problem: str) -> None:
        super().__init__("git", problem)
        self.args = (problem,)  # what this constructor takes, so that it pickles


def run_git(
    folder: str,
    *words: str,
    timeout_s: float,
    options: Sequence[str] = (),
    grant: GitGrant | None = None,
    tree: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run git in *folder* without starting any program that the checkout's configuration names.

    Args:
        folder: Where it runs.
        words: The command.
        timeout_s: Limit for it, and for each read of the configuration.
        options: Before the command, such as `--git-dir`.
        grant: What it may use; None if only git itself may run.
        tree: Our work tree in which it runs, which is in use until it ends.

    Raises:
        GitConfigurationError: The configuration cannot be followed, puts the work tree elsewhere,
            or names its own hooks where hooks are granted.
        OSError: git cannot be started.
        subprocess.TimeoutExpired: It took longer than *timeout_s*.
    """
    git = _Git(folder, timeout_s, options, grant)
    try:
        against = git.overrides()
    except _GitSaidNoError as error:
        return error.ended
    with contextlib.nullcontext(()) if tree is None else using(tree) as inherited:
        return git.run(words, against, inherited)


class _GitSaidNoError(Exception):
    """git cannot read the configuration; the message has its reason."""

    def __init__(self, ended: subprocess.CompletedProcess[bytes]) -> None:
        super().__init__(ended)
        self.ended = ended


class _Git:
    """git in one folder, under one grant."""

    def __init__(
        self, folder: str, timeout_s: float, options: Sequence[str], grant: GitGrant | None
    ) -> None:
        self._folder, self._timeout_s, self._grant = str(Path(folder).absolute()), timeout_s, grant
        self._words = ("git", "-C", self._folder, *options)
        self._environment = _environment(grant)

    def overrides(self) -> list[tuple[str, str]]:
        """What is set against the configuration; fixed ones last, so that they win."""
        found = self._everything()
        self._refuse_elsewhere(found)
        if self._grant is None:
            return [*overridden(found), *ALWAYS, *NOTHING_GRANTED]
        own = [
            s for s in self._listed("--show-scope", "--includes") if s.scope not in OF_THE_CHECKOUT
        ]
        self._environment.setdefault("GIT_ALLOW_PROTOCOL", protocols(own))
        if not self._grant.hooks:
            return [*overridden(found, own), *ALWAYS, *NO_HOOKS]
        if any(s.key == HOOKS_PATH and s.scope in OF_THE_CHECKOUT for s in found):
            raise GitConfigurationError(
                "is not run: the checkout's own configuration names its hooks (core.hooksPath); "
                "name them in yours, with `git config --global`, or leave `hooks` out"
            )
        return [*overridden(found, own), *ALWAYS]

    def run(
        self,
        words: Sequence[str],
        against: Sequence[tuple[str, str]],
        inherited: Sequence[int] = (),
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command, with settings *against* the configuration and *inherited* descriptors."""
        values = {value: _VALUE.format(n) for n, (_, value) in enumerate(against)}
        # Not `-c`: a key may hold "=". A git that does not know this option (before 2.31) fails.
        set_ = [f"--config-env={key}={values[value]}" for key, value in against]
        argv = [*self._words[:3], *set_, *self._words[3:], *words]
        environment = self._environment | {name: value for value, name in values.items()}
        return _run(argv, environment, self._timeout_s, inherited)

    def _refuse_elsewhere(self, found: Sequence[Setting]) -> None:
        """Refuse a work tree that is not where `.git` is: git would read and write files there."""
        named = any(s.key == WORK_TREE and s.scope in OF_THE_CHECKOUT for s in found)
        if not named or self._words[3:]:  # options that say where it is win
            return
        asked = self.run(("rev-parse", "--show-toplevel"), ALWAYS)
        top = Path(os.fsdecode(asked.stdout).removesuffix("\n")).resolve()
        here = Path(self._folder).resolve()
        own = next((each for each in (here, *here.parents) if (each / ".git").exists()), None)
        if asked.returncode or top != own:
            raise GitConfigurationError(
                "is not run: the checkout's configuration has it work on the files of another "
                "folder (core.worktree): take that out with `git config --unset core.worktree`"
            )

    def _everything(self) -> list[Setting]:
        """All settings, also conditional ones."""
        found = self._listed("--show-scope", "--no-includes")
        waiting = list(self._included(found))
        seen: set[tuple[str, Path]] = set()
        while waiting:
            scope, path = waiting.pop()
            if (scope, path) in seen or path.is_dir() or not path.exists():
                continue
            seen.add((scope, path))
            if len(seen) > FILES:
                raise GitConfigurationError(f"is not run: more than {FILES} files are included")
            inside = self._listed("--no-includes", "--file", str(path), scope=scope)
            found += inside
            waiting += [(scope, _beside(path, s.value)) for s in inside if s.section in INCLUDES]
        return found

    def _included(self, found: Sequence[Setting]) -> Iterator[tuple[str, Path]]:
        """The files that the first ones name, with the scope that they have."""
        naming = [s for s in found if s.section in INCLUDES]
        if not naming:
            return
        places = self._places(any(s.scope in OF_THE_CHECKOUT for s in naming))
        for setting in naming:
            for place in places.get(setting.scope, ()):
                yield setting.scope, _beside(place, setting.value)

    def _places(self, of_checkout: bool) -> Mapping[str, Collection[Path]]:
        """The files of each scope."""
        said = self.run(
            ("config", "--list", "-z", "--show-scope", "--show-origin", "--no-includes"), ALWAYS
        )
        fields = os.fsdecode(said.stdout).split("\0")[:-1]
        places: dict[str, set[Path]] = {}
        for scope, origin in zip(fields[::3], fields[1::3], strict=True):
            if origin.startswith("file:") and scope not in OF_THE_CHECKOUT:
                name = origin.removeprefix("file:")
                places.setdefault(scope, set()).add(Path(self._folder, name))
        if not of_checkout:
            return places
        # git names these from the top of the checkout, wherever it is asked.
        paths = ("--path-format=absolute", "--git-common-dir", "--git-dir")
        asked = self.run(("rev-parse", *paths), ALWAYS)
        if asked.returncode:
            raise _GitSaidNoError(asked)
        common, own = os.fsdecode(asked.stdout).removesuffix("\n").split("\n", 1)
        places["local"] = {Path(common, "config")}
        places["worktree"] = {Path(own, "config.worktree")}
        return places

    def _listed(self, *words: str, scope: str = "") -> list[Setting]:
        ended = self.run((*_LIST, *words), ALWAYS)
        if ended.returncode:
            raise _GitSaidNoError(ended)
        own = {key for key, _ in ALWAYS}
        return [
            s for s in listed(ended.stdout, scope) if not (s.scope == "command" and s.key in own)
        ]


def _beside(path: Path, named: str) -> Path:
    """The file that *named* means in the configuration at *path*."""
    named = named.removeprefix(":(optional)")
    if not named.startswith(("%(", ":(")):
        with contextlib.suppress(RuntimeError):  # no such user
            return path.parent / Path(named).expanduser()
    raise GitConfigurationError(f"is not run: the configuration includes {named!r}: write its path")


def _environment(grant: GitGrant | None) -> dict[str, str]:
    # By list: inside a hook GIT_* name another checkout, and they can name programs.
    if grant is None:
        return environment_for() | _ENVIRONMENT | _QUIET
    passed = AT_REMOTE if grant.remote else TO_SIGN
    return environment_for(set(passed) - grant.hidden, grant.hidden) | _ENVIRONMENT


def _run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    timeout_s: float,
    inherited: Sequence[int],
) -> subprocess.CompletedProcess[bytes]:
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # no prompts on a terminal, and it ends with all its children
        pass_fds=inherited,
    )
    try:
        out, err = process.communicate(timeout=timeout_s)
    except BaseException:
        signal_group(process.pid)
        process.communicate()
        raise
    return subprocess.CompletedProcess(argv, process.returncode, out, err)
