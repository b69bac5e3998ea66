"""Each profile beside the version of the package that it follows: decisions and states are equal.

Where they are not, the difference must be one of those listed here: it is counted, and the package
is given our state, so that the rest of the dialogue is compared as well.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from cortex.runtime.directives import (
    DIALOGUE,
    INITIAL,
    SEED,
    STRICT,
    Decision,
    Error,
    Profile,
    State,
    Update,
    export_checkpoint,
    export_state,
)

from .dialogues import sequences
from .reference import module

LISTED: Final = {
    "raises": "the package raises for a premise that begins with a second `to`",
    "quotes": "the package has no quoting: quotes are part of a name, and a directive word in them "
    "makes the text a compound",
    "nothing named": "the package stores a name that says nothing, which it cannot import again",
    "unseen syntax": "the package has a syntax failure, and its step answers that there was no "
    "directive",
    "line break": "the package says that an operand is missing where one has a line break",
    "unsettled spelling": "the package stores a spelling that it spells otherwise when it is named "
    "again, so that the entry cannot be reached",
    "prose": "the package stores a sentence to the model as the name of a thing",
    "compound": "the older package stores a second directive as part of the first one's name",
    "facts reset": "the package forgets the device when the policies are reset",
    "please": "the package does not take `please use X`, which its own rules name",
    "blanks around": "the package takes blanks around a bare `allow` or `is fine` for an item, and "
    "asks",
    "wide comma": "the package separates items at a wide comma where it prohibits, and not where "
    "it allows",
}

BARE: Final = ("allow", "you can", "is fine")


class Seen(NamedTuple):
    """What can be compared of a step."""

    kind: str
    detail: object  # what the decision says besides its kind
    state: object
    pending: object


class Comparison(NamedTuple):
    """One profile and the version it follows."""

    profile: Profile
    version: str
    templates: str
    new: Callable[[], Any]
    their_step: Callable[[Any, str], Seen]
    seen: Callable[[State, Decision], Seen]
    give: Callable[[Any, State], None]  # our state to theirs
    why: Callable[[Any, str, Seen, Seen], str | None]  # the listed difference that it is

    @property
    def name(self) -> str:
        return f"{self.profile.name} / {self.version}"


class UnlistedError(AssertionError):
    """A difference that is not listed."""


def compare(one: Comparison, count: int, seed: int = 0) -> Counter[str]:
    """The listed differences of *count* sequences, counted, with `texts`, all that was compared."""
    found: Counter[str] = Counter()
    for texts in sequences(one.templates, count, seed):
        theirs, state = one.new(), INITIAL
        for text in texts:
            state, decision = one.profile.step(state, text)
            ours, other = one.seen(state, decision), one.their_step(theirs, text)
            found["texts"] += 1
            if ours == other:
                continue
            reason = one.why(theirs, text, ours, other)
            if reason is None:
                raise UnlistedError(f"{one.name}: {texts!r} at {text!r}: {ours} / {other}")
            found[reason] += 1
            one.give(theirs, state)
    return found


# The strict profile beside 0.9.2.


def _strict() -> Comparison:
    engine, grammar = module("0.9.2", "engine"), module("0.9.2", "grammar")

    def their_step(theirs: Any, text: str) -> Seen:
        try:
            made = theirs.step(text)
        except ValueError:
            return Seen("raised", None, theirs.export_json(), None)
        kind = str(made.kind)
        detail: object = None
        if kind == "update":
            detail = made.changed
        if kind == "error":
            repairs = tuple(_directive(each) for each in made.repairs)
            detail = (str(made.failure), _directive(made.directive), repairs)
        return Seen(kind, detail, theirs.export_json(), None)

    def give(theirs: Any, state: State) -> None:
        theirs.import_json(export_state(STRICT, state))

    def why(theirs: Any, text: str, ours: Seen, other: Seen) -> str | None:
        parsed = grammar.decompose_directive(text)
        if ours.kind == "error" and other.kind == "no_directive" and parsed is not None:
            same = (str(parsed.failure), parsed.directive_kind, parsed.missing_operand)
            if ours.detail == same:
                return "unseen syntax"
        if '"' in text or "“" in text:
            return "quotes"
        if other.kind == "raised":
            return "raises"
        if isinstance(parsed, grammar.InvalidDirectiveSyntax):
            return "line break" if "\n" in text and ours.kind == "error" else None
        named = list(parsed.operands.values()) if parsed is not None else []
        return _of_names(named, lambda name: str(engine._normalize_item(name)))

    return Comparison(
        STRICT, "0.9.2", "canonical", engine.Engine, their_step, _strict_seen, give, why
    )


def _directive(theirs: Any) -> tuple[str, dict[str, str]]:
    return str(theirs.kind), dict(theirs.operands)


def _strict_seen(state: State, decision: Decision) -> Seen:
    detail: object = None
    if isinstance(decision, Update):
        detail = decision.changed
    if isinstance(decision, Error):
        if decision.directive is None:
            detail = (str(decision.failure), decision.directive_kind, decision.missing)
        else:
            wanted = (str(decision.directive.kind), decision.directive.operands)
            repairs = tuple((str(each.kind), each.operands) for each in decision.repairs)
            detail = (str(decision.failure), wanted, repairs)
    return Seen(decision.kind, detail, export_state(STRICT, state), None)


def _of_names(named: list[str], normalized: Callable[[str], str]) -> str | None:
    once = [normalized(each) for each in named]
    if not all(once):
        return "nothing named"
    return "unsettled spelling" if any(normalized(each) != each for each in once) else None


# The dialogue profile beside 0.8.3, and beside 0.7.10, which takes compounds.


def _dialogue(version: str) -> Comparison:
    engine = module(version, "engine")

    def their_step(theirs: Any, text: str) -> Seen:
        theirs.asked_before = theirs._pending_replacement
        made = theirs.step(text)
        asked = theirs._pending_replacement
        pending = None if asked is None else (asked.kind, asked.new_item, asked.old_item)
        return Seen(str(made["kind"]), None, theirs.export_json(), pending)

    def give(theirs: Any, state: State) -> None:
        theirs.import_checkpoint_json(export_checkpoint(DIALOGUE, state))

    def why(theirs: Any, text: str, ours: Seen, other: Seen) -> str | None:
        action = engine._parse_directive(text)
        if '"' in text or "“" in text:
            return "quotes"
        if version == "0.7.10" and module("0.8.3", "engine")._contains_compound_directive(text):
            return "compound"
        if action is None:
            asked = theirs.asked_before
            named = [] if asked is None else [asked.new_item, asked.old_item or "x"]
            return _of_names(named, lambda name: str(engine._normalize_item(name)))
        pending = ours.pending
        if isinstance(pending, tuple) and pending[0] == "use_only" and other.kind == "update":
            return "prose" if action.kind == "use_item" and pending[1] == action.item else None
        named = [each for each in (action.item, action.new_item, action.old_item) if each]
        return _of_names(named, lambda name: str(engine._normalize_item(name)))

    def seen(state: State, decision: Decision) -> Seen:
        asked = state.pending
        pending = None if asked is None else (asked.kind, *(*asked.items, None)[:2])
        return Seen(decision.kind, None, export_state(DIALOGUE, state), pending)

    return Comparison(
        DIALOGUE, version, "canonical", engine.create_engine, their_step, seen, give, why
    )


# The seed profile beside 0.1.0.


def _seed() -> Comparison:
    engine = module("0.1.0", "engine")

    def their_step(theirs: Any, text: str) -> Seen:
        made = theirs.step(text)
        asked = theirs._pending
        items = (
            () if asked is None else asked.values or (engine._clean_fact_value(asked.fact_value),)
        )
        pending = None if asked is None else (asked.kind, items)
        return Seen(
            made["kind"],
            None,
            json.dumps(theirs._state, sort_keys=True, separators=(",", ":")),
            pending,
        )

    def give(theirs: Any, state: State) -> None:
        theirs._state = engine._initial_state()
        theirs._state["facts"]["focus.device"] = state.device
        theirs._state["policies"]["prohibit"] = [item for item, _ in state.policies.items()]
        theirs._last_exclusive_fact_key = None if state.device is None else "focus.device"
        asked = state.pending
        theirs._pending = theirs._pending_prompt = None
        if asked is not None:
            fact = asked.items[0] if asked.kind == "fact_set" else None
            values = () if fact else asked.items
            theirs._pending = engine.PendingEvent(asked.kind, values, fact, True)

    def why(theirs: Any, text: str, ours: Seen, other: Seen) -> str | None:
        message = engine._normalize_message(text)
        if message in engine._RESET_POLICY:
            return "facts reset"
        if ours.kind == "clarify" and ours.pending is not None and other.kind == "update":
            return "prose"
        if message.startswith("please ") and other.kind == "passthrough":
            return "please"
        if message in BARE and text != text.strip():
            return "blanks around"
        if "\uff0c" in text:
            return "wide comma"
        named = _seed_names(engine, text, message)
        settled = all(engine._normalize_item(each) == each for each in named)
        return None if settled else "unsettled spelling"

    def seen(state: State, decision: Decision) -> Seen:
        asked = state.pending
        pending = None if asked is None else (asked.kind, asked.items)
        return Seen(decision.kind, None, export_state(SEED, state), pending)

    return Comparison(SEED, "0.1.0", "everyday", engine.create_engine, their_step, seen, give, why)


def _seed_names(engine: Any, text: str, message: str) -> Iterator[str]:
    yield from engine._parse_hard_negative(message) or ()
    yield from engine._parse_allow(text) or ()
    ambiguous = engine._parse_ambiguous_mutation(text)
    yield from () if ambiguous is None else ambiguous.values


def comparisons() -> list[Comparison]:
    """All profiles, each beside its version."""
    return [_seed(), _dialogue("0.8.3"), _dialogue("0.7.10"), _strict()]
