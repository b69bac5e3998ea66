"""What the linker may bind to: announced actions and gates, and the knowledge topics that resolve.

A registry is a value: it never changes, so that "same source and same registry" can mean something.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Struct, UnsetType

from cortex.bus import UNDECLARED, Effect

from .known_tools import KnownTools

TOOLS = "tools"  # what a unit whose steps name tools uses: all of them, as packs change, too


class ActionSpec(Struct, gc=False, frozen=True, kw_only=True):
    """An action that some component announced it can carry out."""

    name: str  # "read_ci_log"
    component: str  # who carries it out
    parameters: dict[str, Any] = {}  # JSON Schema of an object; {} takes anything
    result: dict[str, Any] = {}  # JSON Schema of an object; {} promises nothing
    effect: Effect = UNDECLARED  # on the world
    asks_model: bool = False  # its handler is given a model's answer to a compiled context
    # Left out of the announcement's digest where they are not used.
    answer: dict[str, Any] | UnsetType = UNSET  # JSON Schema of what the model has to answer
    answers_output: bool | UnsetType = UNSET  # the model answers what a step's `output:` declares
    needs: dict[str, Any] | UnsetType = UNSET  # what the work asks of a model, by the announcement
    # Parameters that name a program to start, or an address to send to.
    programs: tuple[str, ...] | UnsetType = UNSET


class GateSpec(Struct, gc=False, frozen=True, kw_only=True):
    """A gate that some component announced it can evaluate."""

    name: str  # "branch_clean"
    component: str
    parameters: dict[str, Any] = {}
    read_only: bool = True  # a dry run evaluates read-only gates and no others


class Registry:
    """The actions, gates and tools that are there, each under one name.

    Where two components announce the same name the last one given is taken.
    """

    def __init__(
        self,
        actions: Iterable[ActionSpec] = (),
        gates: Iterable[GateSpec] = (),
        tools: KnownTools | None = None,  # None: nobody knows which there are
    ) -> None:
        self.tools = tools
        self.actions: Mapping[str, ActionSpec] = {spec.name: spec for spec in actions}
        self.gates: Mapping[str, GateSpec] = {spec.name: spec for spec in gates}

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        """A digest for each announcement, under ``action:name`` and ``gate:name``."""
        prints = {f"action:{name}": digest_of(spec) for name, spec in self.actions.items()}
        prints.update((f"gate:{name}", digest_of(spec)) for name, spec in self.gates.items())
        prints[TOOLS] = digest_of(self.tools)
        return prints


class Resolved(Struct, gc=False, frozen=True, kw_only=True):
    """A topic that stands for exactly one piece of knowledge."""

    path: str
    digest: str  # of the content: new content gives the process a new digest
    root: str = "project"  # the scope it was found in: personal, team, org, domain, project


class Ambiguous(Struct, gc=False, frozen=True, kw_only=True):
    """A topic that two or more pieces of knowledge fit equally."""

    paths: tuple[str, ...]


class Topics(Protocol):
    """Whoever knows which knowledge topics there are."""

    def resolve(self, topic: str) -> Resolved | Ambiguous | None:
        """Return what *topic* stands for; None if there is nothing under that name."""
        ...

    def names(self) -> Iterable[str]:
        """Every topic that would resolve, for "did you mean"."""
        ...

    def problem(self, topic: str) -> str:
        """Why what is under *topic* cannot be used; "" where nothing is."""
        ...


class TopicTable:
    """Topics from a plain mapping of name to path, for tests and tools."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = dict(paths)

    def problem(self, topic: str) -> str:  # noqa: ARG002  # the protocol's
        """Whatever is in the mapping can be used."""
        return ""

    def resolve(self, topic: str) -> Resolved | Ambiguous | None:
        """Return the path under *topic*; its digest is taken over the path."""
        path = self._paths.get(topic)
        if path is None:
            return None
        return Resolved(path=path, digest=sha256(path.encode()).hexdigest())

    def names(self) -> Iterable[str]:
        """Every topic of the table."""
        return self._paths


def digest_of(value: object) -> str:
    """Return the sha256 of the canonical JSON of *value* (keys sorted)."""
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
