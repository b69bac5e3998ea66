"""A process together with all that it inherits, each item with the process it came from."""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from .definitions import (
    FieldDefinition,
    GateUse,
    Inherit,
    ProcessDefinition,
    StepDefinition,
    TopicUse,
)

OwnedTopic: TypeAlias = tuple[TopicUse, str]
OwnedUse: TypeAlias = tuple[TopicUse | Inherit, str]  # of a step
OwnedField: TypeAlias = tuple[FieldDefinition, str]

MAX_CHAIN = 64  # parents of a process, or interfaces of an interface


class ResolvedGate(Struct, gc=False, frozen=True):
    """A gate, who asked for it first, and who asked for it again."""

    use: GateUse
    owner: str


class ResolvedStep(Struct, gc=False, frozen=True):
    """A step in its place."""

    definition: StepDefinition
    owner: str
    overrides: tuple[str, ...] = ()
    gates: tuple[ResolvedGate, ...] = ()
    knowledge: tuple[OwnedUse, ...] | None = None  # None: as the process


class ResolvedProcess(Struct, gc=False, frozen=True, kw_only=True):
    """A process with its inheritance worked out, not yet linked."""

    definition: ProcessDefinition
    chain: tuple[str, ...]
    implements: tuple[str, ...]
    gates: tuple[ResolvedGate, ...]
    knowledge: tuple[OwnedTopic, ...]
    inputs: tuple[OwnedField, ...]
    outputs: tuple[OwnedField, ...]
    steps: Sequence[ResolvedStep]
    orphan: bool = False  # a parent of its chain is not there; that has been reported
