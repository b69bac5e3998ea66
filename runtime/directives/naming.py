"""When two names mean one thing: by normalisation and a published table of aliases, `aliases.json`.

A tool `docker.run`, `deploy/docker` or `docker__run` belongs to `docker`, as does whatever the
table lists for it. Names are compared whole: `dockerless` is no `docker`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from .identity import item
from .in_force import LaidDown

_PARTS = re.compile(r"[./:]|__")
_JOINTS = re.compile(r"[\s_-]+")
_UNSEEN = re.compile(  # controls that are no blanks, and what Unicode calls default ignorable
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


@cache
def aliases() -> dict[str, str]:
    """What each alias means, in the spelling of `plainest`."""
    table: dict[str, list[str]] = json.loads(
        Path(__file__).with_name("aliases.json").read_text(encoding="utf-8")
    )
    return {
        plainest(each): plainest(name) for name, names in table.items() for each in (name, *names)
    }


def plainest(name: str) -> str:
    """*name* in one case and with one kind of joint: `GitHub Actions` is `github-actions`.

    Characters that nobody sees are left out: what looks like `docker` to its reader is `docker`.
    What has nothing else is itself, so that it is not taken for the empty part of another name.
    """
    seen = name if name.isascii() and name.isprintable() else _UNSEEN.sub("", name)
    return _JOINTS.sub("-", item(seen)).strip("-") or name


def meaning(name: str) -> str:
    """What *name* means: what the table says, else its plainest spelling."""
    plain = plainest(name)
    return aliases().get(plain, plain)


def same_thing(one: str, other: str) -> bool:
    """Whether two names mean the same."""
    return meaning(one) == meaning(other)


def directive_about(tool: str, directives: Iterable[LaidDown], pack: str = "") -> LaidDown | None:
    """The one of *directives* that names a tool or model, or what it is a part of; else None.

    Args:
        tool: Its own name; the one that a model calls it by may not show its parts.
        directives: Those that are looked at.
        pack: The pack, or the server, of a tool.
    """
    rules = tuple(directives)
    if not rules:
        return None
    names = frozenset((*_names_of(tool), *(_names_of(pack) if pack else ())))
    return next((each for each in rules if meaning(each.name) in names), None)


def _names_of(tool: str) -> Iterator[str]:
    yield meaning(tool)
    yield from map(meaning, _PARTS.split(tool))
