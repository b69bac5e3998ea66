"""What there is to compile for: the models and the tools that were announced and stand."""

import contextlib
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from cortex.bus import Event
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn, ToolListed
from cortex.runtime.access import OWNER, SERVER, Announcers
from cortex.runtime.context import Item, Tool
from cortex.runtime.knowledge import KnowledgeError
from cortex.runtime.models import ModelDescription
from cortex.runtime.tools import (
    Allowed,
    Shown,
    ToolSpec,
    allowed,
    find_skills,
    read_skill,
    shown,
    specs_of,
)

KINDS = ("model", "tool")
PACKS = "tools:packs"  # the item that lists what may be enabled


class _Standing(msgspec.Struct):
    models: dict[str, ModelDescription] = {}
    tools: dict[str, ComponentAnnounced] = {}
    listed: dict[str, ToolListed] = {}
    announcers: list[tuple[str, str, str, str]] = []


class Offered:
    """A fold of announcements, withdrawals and listings."""

    def __init__(self) -> None:
        self._standing = _Standing()
        self._announcers = Announcers()

    def snapshot(self) -> bytes:
        """All of it, for `restore`."""
        self._standing.announcers = self._announcers.kept()
        return msgspec.msgpack.encode(self._standing)

    def restore(self, snapshot: bytes) -> None:
        """Take up what `snapshot` gave."""
        self._standing = _READ(snapshot)
        self._announcers = Announcers(self._standing.announcers)
        for listed in self._standing.listed.values():
            if self._announcers.serves(SERVER, listed.server) == ("", ""):  # of a snapshot of old
                self._announcers.lists(listed, OWNER)

    def fold(self, event: Event, source: str = OWNER) -> None:
        """Take in what *source* said of models and tools; anything else says nothing."""
        if isinstance(event, ToolListed):
            if self._announcers.lists(event, source):
                self._standing.listed[event.server] = event
        elif (
            isinstance(event, ComponentAnnounced | ComponentWithdrawn)
            and event.kind in KINDS
            and self._announcers.take(event, source)
        ):
            self._take(event)

    def _take(self, event: ComponentAnnounced | ComponentWithdrawn) -> None:
        match event:
            case ComponentAnnounced(kind="model"):
                self._announce_model(event)
            case ComponentAnnounced():
                self._standing.tools[event.name] = event
            case ComponentWithdrawn(kind="model"):
                self._standing.models.pop(event.name, None)
            case ComponentWithdrawn():
                self._standing.tools.pop(event.name, None)

    def _announce_model(self, event: ComponentAnnounced) -> None:
        self._standing.models.pop(event.name, None)
        # A model that does not describe itself cannot be selected, and must stop nobody.
        with contextlib.suppress(msgspec.ValidationError):
            description = msgspec.convert(event.traits, ModelDescription, strict=False)
            self._standing.models[event.name] = description

    def models(self) -> list[ModelDescription]:
        """The models that are there."""
        return list(self._standing.models.values())

    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that are there."""
        return specs_of(self._standing.tools.values(), self._standing.listed.values())


_READ = msgspec.msgpack.Decoder(_Standing).decode


class ShownTools(msgspec.Struct, frozen=True):
    """What a prompt says about tools."""

    tools: tuple[Tool, ...] = ()
    items: tuple[Item, ...] = ()  # packs in a line each; skills that were enabled, whole
    notes: tuple[str, ...] = ()  # what the step lists and nobody offers


def show_tools(
    asked: Iterable[str],
    specs: tuple[ToolSpec, ...],
    enabled: Collection[str],
    home: Path | None,
) -> ShownTools:
    """What a step whose `tools:` are *asked* shows, once *enabled* packs were enabled."""
    names = tuple(asked)
    if not names:
        return ShownTools()
    may = allowed(names, specs, find_skills(home) if home else ())
    seen = shown(may, enabled)
    items, notes = _skills(seen)
    if seen.packs:
        items.insert(0, _packs(seen))
    missing = [f"nobody offers the tool or pack {name}" for name in may.unknown]
    return ShownTools(_tools(may, seen), tuple(items), (*missing, *notes))


def _tools(may: Allowed, seen: Shown) -> tuple[Tool, ...]:
    packed = {spec.name for pack in may.packs().values() for spec in pack}
    return tuple(
        # A pack that a model enabled must not stop it by its size.
        Tool(**spec.shown(), must_include=spec.name not in packed)
        for spec in seen.tools
    )


def _packs(seen: Shown) -> Item:
    lines = "\n".join(("These can be enabled:", *seen.packs))
    return Item(id=PACKS, section="tools", kind="packs", text=lines, priority=1)


def _skills(seen: Shown) -> tuple[list[Item], list[str]]:
    items: list[Item] = []
    notes: list[str] = []
    for skill in seen.skills:
        try:
            text = read_skill(skill)
        except KnowledgeError as error:
            notes.append(f"the skill {skill.name} cannot be read: {error}")
            continue
        item_id = f"skill:{skill.name}"
        items.append(
            Item(id=item_id, section="tools", kind="skill", text=text, priority=1, trust="trusted")
        )
    return items, notes
