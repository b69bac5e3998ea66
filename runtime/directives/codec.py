"""States as canonical JSON: sorted keys, no blanks, ASCII. Equal states give equal bytes.

What is imported is checked as a whole before it becomes a state; there is no half of an import.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, TypeVar

import msgspec
from msgspec import Struct

from .change import DEVICE, PREMISE, Pending, Rule
from .errors import StateInvalidError, StateVersionError
from .identity import plain
from .limits import LIMITS, is_over_limit
from .profile import SEED, Profile
from .state import State
from .text_map import EMPTY, TextMap

CHECKPOINT_VERSION: Final = 1
LARGEST_STATE_BYTES: Final = 16 << 20  # of an exported state; about 300,000 policies

DocumentT = TypeVar("DocumentT")


class _Versioned(Struct):
    version: int


class _Facts(Struct, forbid_unknown_fields=True):
    device: str | None = msgspec.field(name=DEVICE)


class _Prohibited(Struct, forbid_unknown_fields=True):
    prohibit: list[str]


class _SeedState(Struct, forbid_unknown_fields=True):
    """Version 1."""

    facts: _Facts
    policies: _Prohibited
    version: int


class _RuledState(Struct, forbid_unknown_fields=True):
    """Version 2."""

    policies: dict[str, Rule]
    premise: str | None
    version: int


class _SeedQuestion(Struct, forbid_unknown_fields=True):
    kind: Literal["policy_add", "fact_set"]
    prompt_to_user: str
    values: list[str]


class _Replacement(Struct, forbid_unknown_fields=True):
    kind: Literal["use_only", "replace_use"]
    new_item: str
    old_item: str | None


class _RuledQuestion(Struct, forbid_unknown_fields=True):
    kind: Literal["replacement"]
    prompt_to_user: str
    replacement: _Replacement


class _Checkpoint(Struct, forbid_unknown_fields=True):
    authoritative_state: msgspec.Raw
    checkpoint_version: int
    pending: msgspec.Raw = msgspec.Raw(b"null")


class _CheckpointVersioned(Struct):
    checkpoint_version: int


def export_state(profile: Profile, state: State) -> str:
    """The facts and policies of *state* as JSON; what is pending is left out."""
    return _written(_document(profile, state))


def left_out(profile: Profile, state: State) -> list[str]:
    """What an export by *profile* cannot say: facts and policies that another profile laid down."""
    written = DEVICE if profile.version == SEED.version else PREMISE
    facts = [f"{name}: {value}" for name, value in state.facts.items() if name != written]
    if profile.version != SEED.version:
        return facts
    return [*facts, *(f"use {item}" for item, rule in state.policies.items() if rule == "use")]


def check_state_size(size_bytes: int) -> None:
    """Raise `StateInvalidError` if an exported state has more bytes than are taken in."""
    if size_bytes > LARGEST_STATE_BYTES:
        raise StateInvalidError(
            f"it is larger than {LARGEST_STATE_BYTES:,} bytes, the most taken in"
        )


def not_utf_8(error: UnicodeDecodeError) -> StateInvalidError:
    """Why a file that is not UTF-8 is no state."""
    return StateInvalidError(f"not UTF-8 at byte {error.start + 1:,}")


def import_state(profile: Profile, text: str) -> State:
    """The state that *text* holds.

    Raises:
        StateInvalidError: It is not a state, or names one thing twice.
        StateVersionError: It has a version that *profile* does not read.
    """
    found = _read(text, _Versioned).version  # first: a newer version may have other keys
    _check_names(text)
    if found != profile.version:
        raise StateVersionError(profile.name, found, profile.version)
    if profile.version == SEED.version:
        seed = _read(text, _SeedState)
        rules: Iterable[tuple[str, Rule]] = ((each, "prohibit") for each in seed.policies.prohibit)
        return State(_fact(DEVICE, seed.facts.device), _policies(profile, rules))
    ruled = _read(text, _RuledState)
    return State(_fact(PREMISE, ruled.premise), _policies(profile, ruled.policies.items()))


def export_checkpoint(profile: Profile, state: State) -> str:
    """*state* as JSON, with what is pending."""
    document = {
        "authoritative_state": _document(profile, state),
        "checkpoint_version": CHECKPOINT_VERSION,
        "pending": None if state.pending is None else _question(state.pending),
    }
    return _written(document)


def import_checkpoint(profile: Profile, text: str) -> State:
    """The state that a checkpoint holds, with what is pending.

    Raises:
        StateInvalidError: It is not a checkpoint.
        StateVersionError: The checkpoint, or the state in it, has a version that is not read.
    """
    found = _read(text, _CheckpointVersioned).checkpoint_version
    if found != CHECKPOINT_VERSION:
        raise StateVersionError(f"{profile.name} (checkpoint)", found, CHECKPOINT_VERSION)
    _check_names(text)
    checkpoint = _read(text, _Checkpoint)
    state = import_state(profile, bytes(checkpoint.authoritative_state).decode())
    return State(state.facts, state.policies, _pending(profile, bytes(checkpoint.pending).decode()))


def _written(document: object) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def _document(profile: Profile, state: State) -> dict[str, object]:
    if profile.version == SEED.version:
        prohibited = [item for item, rule in state.policies.items() if rule == "prohibit"]
        facts = {DEVICE: state.device}
        return {"facts": facts, "policies": {"prohibit": prohibited}, "version": profile.version}
    policies = dict(state.policies.items())
    return {"policies": policies, "premise": state.premise, "version": profile.version}


def _question(pending: Pending) -> dict[str, object]:
    asked = {"prompt_to_user": pending.prompt}
    if pending.kind in ("policy_add", "fact_set"):
        return {**asked, "kind": pending.kind, "values": list(pending.items)}
    new, old = (*pending.items, None)[:2]
    replacement = {"kind": pending.kind, "new_item": new, "old_item": old}
    return {**asked, "kind": "replacement", "replacement": replacement}


def _read(text: str, kind: type[DocumentT]) -> DocumentT:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise StateInvalidError(str(error)) from None


def _check_names(text: str) -> None:
    # A decoder keeps the last of two equal names, so that one of two policies would be lost.
    try:
        json.loads(text, object_pairs_hook=_once)
    except StateInvalidError:
        raise
    except (ValueError, RecursionError) as error:
        raise StateInvalidError(str(error)) from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counted = Counter(name for name, _ in pairs)
        again = next(name for name, times in counted.items() if times > 1)
        raise StateInvalidError(f"it has {again[:40]!r} twice")
    return found


def _fact(name: str, value: str | None) -> TextMap:
    if value is None:
        return EMPTY
    found = _bounded(plain(_bounded(value)))
    if not found:
        raise StateInvalidError(f"`{name}` is a text with nothing in it, where null was expected")
    return EMPTY.having(name, found)


def _bounded(text: str) -> str:
    if is_over_limit(text):
        raise StateInvalidError(f"{text[:40]!r} ... is too long. {LIMITS}")
    return text


def _policies(profile: Profile, rules: Iterable[tuple[str, Rule]]) -> TextMap:
    made: dict[str, str | None] = {}
    for name, rule in rules:
        item = _bounded(profile.identity(_bounded(name)))
        if not item:
            raise StateInvalidError(f"the policy {name!r} names nothing")
        if item in made:
            raise StateInvalidError(f"two policies name {item!r}")
        made[item] = rule
    return EMPTY.updated(made)


def _pending(profile: Profile, text: str) -> Pending | None:
    if text == "null":
        return None
    if profile.version == SEED.version:
        asked = _read(text, _SeedQuestion)
        return _asked(
            profile,
            Pending(kind=asked.kind, items=tuple(asked.values), prompt=asked.prompt_to_user),
        )
    ruled = _read(text, _RuledQuestion)
    inner = ruled.replacement
    if (inner.kind == "use_only") != (inner.old_item is None):
        raise StateInvalidError(f"a question of kind {inner.kind} has the wrong number of items")
    items = (inner.new_item,) if inner.old_item is None else (inner.new_item, inner.old_item)
    return _asked(profile, Pending(kind=inner.kind, items=items, prompt=ruled.prompt_to_user))


def _asked(profile: Profile, pending: Pending) -> Pending:
    named = all(_bounded(profile.identity(_bounded(each))) for each in pending.items)
    if not pending.items or not named or (pending.kind == "fact_set" and len(pending.items) > 1):
        raise StateInvalidError(f"a question of kind {pending.kind} names nothing, or too much")
    return pending
