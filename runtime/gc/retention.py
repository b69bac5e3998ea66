"""When an owner releases an object: a table of days and numbers, and the one rule that reads it."""

from typing import Annotated

from msgspec import Meta, Struct

from .policy import ObjectKind

Days = Annotated[float, Meta(ge=0)]


class RetentionRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From when on an object may go, if nothing keeps it; docs/gc.md gives the reasons."""

    versions: Annotated[int, Meta(ge=0)] = 3  # of a belief, behind the current one, that stay
    superseded_days: Days = 90  # how long older versions stay, too
    fading: tuple[str, ...] = ("observation",)  # types of nodes that fade if nobody uses them
    half_life_days: Annotated[float, Meta(gt=0)] = 30  # in which their strength halves
    strength: Annotated[float, Meta(ge=0)] = 0.05  # a fading node below it is released
    execution_days: Days = 90  # since it ended
    package_days: Days = 90  # since its last use
    artefact_days: Days = 30  # since its last use; it can be made again


class ObjectFacts(Struct, frozen=True, kw_only=True):
    """What its owner knows of an object, at a recorded time."""

    kind: ObjectKind
    node_type: str = ""  # "decision", "observation", ...; "" for what is no node
    idle_days: float = 0.0  # since it was made or used, whichever is later
    uses: int = 0
    forgotten: bool = False  # a user said so
    versions: int = 0  # newer ones of the same belief, up to the current one
    superseded_days: float = 0.0  # since the first of them
    ended_days: float | None = None  # of an execution; None while it goes on
    members: int = 0  # of a chain


def reason_to_release(facts: ObjectFacts, rules: RetentionRules) -> str | None:
    """The word for which an object is released; None if its owner keeps it."""
    match facts.kind:
        case "node":
            return _of_a_node(facts, rules)
        case "chain":
            return "forgotten" if facts.forgotten else None if facts.members else "empty"
        case "execution":
            ended = facts.ended_days
            return "expired" if ended is not None and ended >= rules.execution_days else None
        case "package":
            return "unused" if facts.idle_days >= rules.package_days else None
        case "artefact":
            return "unused" if facts.idle_days >= rules.artefact_days else None


def strength(idle_days: float, uses: int, half_life_days: float) -> float:
    """How strong a fading memory is: 1 when it is new, more by each use, half after a half-life."""
    return float((1 + uses) * 0.5 ** (idle_days / half_life_days))


def _of_a_node(facts: ObjectFacts, rules: RetentionRules) -> str | None:
    if facts.forgotten:
        return "forgotten"
    if facts.versions > rules.versions and facts.superseded_days >= rules.superseded_days:
        return "superseded"
    if facts.node_type in rules.fading:
        left = strength(facts.idle_days, facts.uses, rules.half_life_days)
        return "faded" if left < rules.strength else None
    return None
