"""The rights of a plugin, from the confirmed parts of its manifest: pure, and deny by default."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from cortex.bus import FOREIGN, Draft, Pair
from cortex.bus.events import GrantGiven, ModelInvoke
from cortex.runtime.access import PUBLISH, READ, SUBSCRIBE, WORK, Permissions, pair_of

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
        """The rights that the granted parts of a manifest give; unknown parts give none."""
        said: dict[str, list[str]] = {}
        for part in parts:
            kind, _, what = part.partition(":")
            said.setdefault(kind, []).append(what)
        models = tuple(said.get("model", ()))
        seen = [pair_of(pattern) for pattern in said.get("subscribe", ())]
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

    def permissions(
        self, client: str, names: Sequence[str] = (), own: Sequence[str] = ()
    ) -> Permissions:
        """What its *client*, which hosts the components *names*, may do with topics and keys.

        Of those components it may publish the topics *own* without a grant.
        """
        return Permissions(
            client,
            {
                PUBLISH: [(topic, None) for topic in self.publish],
                **dict.fromkeys((SUBSCRIBE, WORK, READ), self.subscribe),
            },
            names=names,
            workspaces=self.workspaces,
            own=own,
        )

    def may_ask(self, draft: Draft) -> bool:
        """Whether *draft* asks no model, or one that it was granted."""
        return draft.topic != ASK_MODELS or _model_of(draft) in self.models

    def grant(self, client: str, token_sha256: str, names: Sequence[str]) -> GrantGiven:
        """The grant of its client, by topic; keys are checked by the gateway."""
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
        ValueError: A named part is not in it; the message lists the parts.
    """
    asked = manifest.parts()
    for part in (*only, *without):
        if part not in asked:
            there = ", ".join(asked) or "nothing"
            raise ValueError(f"{manifest.name} does not ask for {part!r}; it asks for {there}")
    return tuple(part for part in (only or asked) if part not in without)


def may_answer(permissions: Permissions, plugin: str, topic: str) -> bool:
    """Whether *plugin* may answer the queries of this topic, as its only answerer."""
    return topic.startswith(f"{FOREIGN}{plugin}.") and permissions.allows_key(
        SUBSCRIBE, topic, None
    )


def client_of(plugin: str) -> str:
    """The name of a plugin's client, which is the source of its own events."""
    return f"plugin.{plugin}"


def _model_of(draft: Draft) -> str:
    # Its routing key is the provider; the hub refuses a body that holds no such event.
    try:
        return msgspec.msgpack.decode(draft.body, type=ModelInvoke).model
    except msgspec.DecodeError:
        return ""
