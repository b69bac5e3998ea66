"""The manifest of a plugin: its components, and everything that it requests."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from cortex.bus import EFFECTS, FOREIGN, Effect
from cortex.bus.events import VOCABULARY
from cortex.runtime.access import GUARDED

from .errors import PluginInvalidError

# Topics for the runtime only: a plugin that may publish them could grant itself the rest.
RESERVED = ("client", "component", "gc", "grant", "plugin", "runtime", "subject")
MEMORY_MB = 2_048  # of a plugin without an own limit
MOST = {"events_per_s": 20_000, "memory_mb": 16_384, "restarts": 100, "silent_s": 600}
ASK_MODELS = "model.invoke"  # goes with `wants.models`, which names those it may ask

_OR = f"{', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_COMPONENT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_TOPIC = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
_FAMILY = re.compile(r"([a-z][a-z0-9_]*\.)+\*")
_SECRET = re.compile(r"[A-Z][A-Z0-9_]{0,79}")


class FileWant(Struct, frozen=True, forbid_unknown_fields=True):
    """A file or folder that it needs."""

    path: str  # absolute, "~/...", or "./..." for what is in the workspace
    mode: Literal["read", "write"] = "read"


class Wants(Struct, frozen=True, forbid_unknown_fields=True):
    """Needs beside events; each is available only if granted."""

    files: tuple[FileWant, ...] = ()
    network: bool = False
    secrets: tuple[str, ...] = ()  # by name, as "GITHUB_TOKEN"; they come as its environment
    models: tuple[str, ...] = ()  # that it may ask; it publishes `model.invoke` then


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """When it is ended, as one that floods, hangs or falls again and again; `MOST` bounds them."""

    events_per_s: int = 2_000  # of what it publishes, over a few seconds
    memory_mb: int = MEMORY_MB  # data of each of its processes; 0 for the default
    restarts: int = 5  # in a row, before it is given up
    silent_s: float = 60.0  # without a sign of life, which is due every second; then it hangs

    def told(self) -> str:
        """In words, for the person who confirms them."""
        return (
            f"at most {self.events_per_s:,} events/s and {self.memory_mb or MEMORY_MB:,} MB a "
            f"process, {self.restarts} restarts in a row, {self.silent_s:g} s of silence"
        )

    def bounds(self) -> dict[str, float]:
        """The limits by name."""
        return {**msgspec.structs.asdict(self), "memory_mb": self.memory_mb or MEMORY_MB}

    def beyond(self, confirmed: Mapping[str, float]) -> bool:
        """Whether one of them is higher than what was *confirmed*, by name."""
        before = {**Limits().bounds(), **confirmed}
        return any(value > before[name] for name, value in self.bounds().items())


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plugin; its package names one under the entry point group `cortex.plugins`.

    Topics to see are "family.verb", "family.verb=key", "family.*" or "*". Topics to publish are
    exact, but for its own: "x.NAME.verb" or "x.NAME.*".
    """

    name: str  # small letters, digits and _; topics of its own are `x.NAME.verb`
    version: str  # "1.2.0"
    cortex: str  # the versions of Cortex that it works with: ">=0.1,<0.2"
    summary: str = ""
    components: tuple[str, ...]  # "package.module:Class", or of a decorated function
    publishes: tuple[str, ...] = ()
    subscribes: tuple[str, ...] = ()
    wants: Wants = Wants()
    limits: Limits = Limits()
    # What its actions and tools do to the world, by their name or that of their component, where
    # the code does not say: "none", "read", "idempotent", or "once" for what is not named.
    effects: dict[str, Effect] = {}

    def check(self) -> "Manifest":
        """This manifest, where nothing is wrong with it.

        Raises:
            PluginInvalidError: Something is; every problem is named.
        """
        problems = list(_problems(self))
        if problems:
            raise PluginInvalidError(self.name[:40], problems)
        return self

    def fits(self, cortex_version: str) -> bool:
        """Whether it works with that version of Cortex."""
        from packaging.specifiers import SpecifierSet  # where there is a plugin

        return SpecifierSet(self.cortex).contains(cortex_version, prereleases=True)

    def digest(self) -> str:
        """SHA-256 of the whole manifest, hex: a confirmation is valid for this digest only."""
        said = msgspec.to_builtins(self)
        if not self.effects:
            del said["effects"]  # which those that were confirmed before it was there do not have
        return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()

    def parts(self) -> tuple[str, ...]:
        """Everything that it asks for, one name each: "publish:TOPIC", "file:PATH", "network"."""
        wants = self.wants
        return tuple(
            dict.fromkeys(
                (
                    *(f"subscribe:{pattern}" for pattern in self.subscribes),
                    *(f"publish:{pattern}" for pattern in self.publishes),
                    *(f"{each.mode}:{each.path}" for each in wants.files),
                    *(("network",) if wants.network else ()),
                    *(f"secret:{name}" for name in wants.secrets),
                    *(f"model:{name}" for name in wants.models),
                )
            )
        )


def read_manifest(data: bytes) -> Manifest:
    """The manifest that *data*, JSON, holds, checked.

    Raises:
        PluginInvalidError: It is not a manifest, or has an error.
    """
    try:
        return msgspec.json.decode(data, type=Manifest).check()
    except msgspec.DecodeError as error:
        raise PluginInvalidError("?", [str(error)]) from None


def _problems(manifest: Manifest) -> Iterator[str]:
    if not _NAME.fullmatch(manifest.name):
        yield f"name {manifest.name[:60]!r}: give up to 40 small letters, digits and _"
    yield from _versions(manifest)
    if not manifest.components:
        yield "components is empty: name at least one as 'package.module:Class'"
    for component in manifest.components:
        if not _COMPONENT.fullmatch(component):
            yield f"component {component[:80]!r}: write 'package.module:Class'"
    for pattern in manifest.publishes:
        yield from _published(manifest, pattern)
    for pattern in manifest.subscribes:
        yield from _subscribed(pattern)
    yield from _wanted(manifest.wants)
    for name, effect in manifest.effects.items():
        if effect not in EFFECTS:
            yield f"effects.{name[:60]} is {str(effect)[:40]!r}: give {_OR}"
    for name, value in msgspec.structs.asdict(manifest.limits).items():
        if not 0 <= value <= MOST[name]:
            yield f"limits.{name} is {value}: give 0 to {MOST[name]:,}"


def _versions(manifest: Manifest) -> Iterator[str]:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # where there is a plugin
    from packaging.version import InvalidVersion, Version

    try:
        Version(manifest.version)
    except InvalidVersion:
        yield f"version {manifest.version[:40]!r} is not a version: write it as '1.2.0'"
    try:
        SpecifierSet(manifest.cortex)
    except InvalidSpecifier:
        yield f"cortex {manifest.cortex[:40]!r} is not a range: write it as '>=0.1,<0.2'"


def _published(manifest: Manifest, topic: str) -> Iterator[str]:
    own = f"{FOREIGN}{manifest.name}."
    if topic == f"{own}*":
        return
    if not _TOPIC.fullmatch(topic):
        yield f"publishes {topic[:80]!r}: name each topic, or {own}* for its own"
    elif topic.startswith(FOREIGN):
        if not topic.startswith(own):
            yield f"publishes {topic}: its own topics start with {own}"
    elif topic.partition(".")[0] in RESERVED:
        yield f"publishes {topic}: only the runtime publishes {topic.partition('.')[0]}.*"
    elif GUARDED.matches(topic):
        yield f"publishes {topic}: only the runtime may publish it"
    elif topic not in VOCABULARY:
        yield f"publishes {topic}: that is not a topic; its own start with {own}"
    elif topic == ASK_MODELS and not manifest.wants.models:
        yield f"publishes {topic}: name the models that it asks in wants.models"


def _subscribed(pattern: str) -> Iterator[str]:
    topic, keyed, _ = pattern.partition("=")
    if not keyed and (topic == "*" or _FAMILY.fullmatch(topic)):
        return
    if not _TOPIC.fullmatch(topic):
        yield f"subscribes {pattern[:80]!r}: write 'family.verb', 'family.verb=key' or 'family.*'"
    elif topic.startswith(FOREIGN):
        return
    elif topic not in VOCABULARY:
        yield f"subscribes {pattern}: {topic} is not a topic"
    elif keyed and VOCABULARY.classes()[topic].routing is None:
        yield f"subscribes {pattern}: {topic} has no key"


def _wanted(wants: Wants) -> Iterator[str]:
    for each in wants.files:
        path = each.path
        if not path.startswith(("/", "~/", "./")) or ".." in path.split("/") or "\0" in path:
            yield f"wants.files {path[:80]!r}: write an absolute path, '~/...' or './...', no '..'"
        elif not path.strip("/~."):
            yield f"wants.files {path!r}: name what in there it needs, not all of it"
    for name in wants.secrets:
        if not _SECRET.fullmatch(name):
            yield f"wants.secrets {name[:80]!r}: write capitals, digits and _, as GITHUB_TOKEN"
