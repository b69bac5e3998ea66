"""What a plugin was granted, read from the parts that were confirmed: pure, and deny by default."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from cortex.bus import FOREIGN, Draft, Filter, Pair
from cortex.bus.events import GrantGiven, ModelInvoke

from .manifest import ASK_MODELS, FileWant, Manifest

MODEL_ANSWERS = ("model.responded", "model.failed", "model.unclaimed")


class Granted(Struct, frozen=True):
    """What one plugin may do."""

    publish: tuple[str, ...] = ()
    subscribe: tuple[Pair, ...] = ()
    files: tuple[FileWant, ...] = ()
    network: bool = False
    secrets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()  # folders in which it may ask for work; empty for any

    @classmethod
    def of(cls, parts: Iterable[str]) -> "Granted":
        """What the parts of a manifest that were granted come to; others mean nothing."""
        said: dict[str, list[str]] = {}
        for part in parts:
            kind, _, what = part.partition(":")
            said.setdefault(kind, []).append(what)
        models = tuple(said.get("model", ()))
        seen = [_pair(pattern) for pattern in said.get("subscribe", ())]
        told = list(said.get("publish", ()))
        if models:
            told.append(ASK_MODELS)
            seen += [(topic, None) for topic in MODEL_ANSWERS]
        return cls(
            publish=tuple(dict.fromkeys(told)),
            subscribe=tuple(dict.fromkeys(seen)),
            files=(
                *(FileWant(path) for path in said.get("read", ())),
                *(FileWant(path, "write") for path in said.get("write", ())),
            ),
            network="network" in said,
            secrets=tuple(said.get("secret", ())),
            models=models,
        )

    def may_publish(self, draft: Draft) -> bool:
        """Whether it may say this."""
        if draft.topic == ASK_MODELS and _model_of(draft) not in self.models:
            return False
        return Filter.of(self.publish).matches(draft.topic)

    def may_see(self, pair: Pair) -> bool:
        """Whether it may subscribe to this topic, family or key."""
        return Filter(self.subscribe).matches(*pair)

    def may_answer(self, plugin: str, topic: str) -> bool:
        """Whether *plugin* may answer the queries of this topic, which nobody else then can."""
        own = f"{FOREIGN}{plugin}."
        return topic.startswith(own) and self.may_see((topic, None))

    def grant(self, client: str, token_sha256: str, names: Sequence[str]) -> GrantGiven:
        """The grant of its client, by topic; keys are held by the guard beside the hub."""
        topics = tuple(sorted({topic for topic, _ in self.subscribe}))
        return GrantGiven(
            client=client,
            token_sha256=token_sha256,
            publish=self.publish,
            subscribe=topics,
            work=topics,
            names=tuple(names),
            workspaces=self.workspaces,
        )


def folders_in(settings: Any) -> tuple[str, ...]:
    """The folders in which a plugin with these settings may ask for work; none for any.

    Wherever a table of its settings has `workspaces`, all that it asks for is in one of these
    folders, or in one that a `workspace` names.
    """
    listed: list[str] = []
    named: list[str] = []
    _collect(settings, listed, named)
    return tuple(dict.fromkeys((*listed, *named))) if listed else ()


def _collect(settings: Any, listed: list[str], named: list[str]) -> None:
    if isinstance(settings, Mapping):
        folders, one = settings.get("workspaces"), settings.get("workspace")
        if isinstance(folders, list | tuple):
            listed += [each for each in folders if isinstance(each, str)]
        if isinstance(one, str) and one:
            named.append(one)
    within = settings.values() if isinstance(settings, Mapping) else settings
    if isinstance(settings, Mapping | list | tuple):
        for each in within:
            _collect(each, listed, named)


def chosen(manifest: Manifest, only: Sequence[str], without: Sequence[str]) -> tuple[str, ...]:
    """The parts of *manifest* that are granted: all, or *only* these, and never those *without*.

    Raises:
        ValueError: It does not ask for one that is named; the message says which there are.
    """
    asked = manifest.parts()
    for part in (*only, *without):
        if part not in asked:
            there = ", ".join(asked) or "nothing"
            raise ValueError(f"{manifest.name} does not ask for {part!r}; it asks for {there}")
    return tuple(part for part in (only or asked) if part not in without)


def client_of(plugin: str) -> str:
    """The name of a plugin's client, which is the source of what it publishes by itself."""
    return f"plugin.{plugin}"


def _model_of(draft: Draft) -> str:
    # Its routing key is the provider; the hub refuses a body that holds no such event.
    try:
        return msgspec.msgpack.decode(draft.body, type=ModelInvoke).model
    except msgspec.DecodeError:
        return ""


def _pair(pattern: str) -> Pair:
    topic, keyed, key = pattern.partition("=")
    return topic, key if keyed else None
