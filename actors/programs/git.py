"""Asking git about a checkout without running anything that the checkout names.

A checkout's own configuration may name programs: a file system monitor, hooks, filters that make
what is committed from what stands in a file, and commands that fetch what is missing.
"""

import os
import subprocess
from collections.abc import Iterator

from cortex.runtime.isolation import environment_for

from .errors import ProgramError

_OFF = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
# Inside a hook git sets these, and they would win over the folder that is asked about.
_OF_ANOTHER_CHECKOUT = frozenset(
    ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY")
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # the index is not written, so that no hook is told of it
    "GIT_ALLOW_PROTOCOL": "none",  # objects that are missing are not fetched
    "GIT_NO_LAZY_FETCH": "1",
}


class GitFilterError(ProgramError):
    """A checkout names a filter in a way that it cannot be switched off, so git is not asked."""

    def __init__(self, name: str) -> None:
        super().__init__("git", f"is not asked: remove the filter {name!r} from its configuration")
        self.args = (name,)


def ask_git(folder: str, *words: str, timeout_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run git in *folder*, with every program that its configuration names switched off.

    Raises:
        GitFilterError: A filter cannot be switched off.
        OSError: git cannot be started.
        subprocess.TimeoutExpired: It took longer than *timeout_s*.
    """
    listed = _run(folder, "config", "--name-only", "-z", "--get-regexp", r"^filter\.", s=timeout_s)
    return _run(folder, *_without_filters(listed.stdout), *words, s=timeout_s)


def _run(folder: str, *words: str, s: float) -> subprocess.CompletedProcess[bytes]:
    environment = {
        name: value for name, value in environment_for().items() if name not in _OF_ANOTHER_CHECKOUT
    }
    return subprocess.run(
        ["git", "-C", folder, *_OFF, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=s,
        check=False,
        env=environment | _ENVIRONMENT,
    )


def _without_filters(keys: bytes) -> Iterator[str]:
    """Options that switch off the filters whose *keys* stand in the configuration."""
    names = {
        name
        for key in os.fsdecode(keys).split("\0")
        for name, dot, _ in [key.removeprefix("filter.").rpartition(".")]
        if dot
    }
    for name in sorted(names):
        if "=" in name:  # git would take it for the end of the key
            raise GitFilterError(name)
        for setting in ("clean=", "smudge=", "process=", "required=false"):
            yield from ("-c", f"filter.{name}.{setting}")
