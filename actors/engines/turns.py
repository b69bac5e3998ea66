"""The turns of a step so far, from the stream of its execution."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    ContextCompile,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepFailed,
    StepProposed,
    ToolCall,
    ToolDenied,
    ToolEnabled,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.context import Turn, TurnPart, cut_middle
from cortex.runtime.log import BlobError, Blobs
from cortex.runtime.processes import is_empty

LONGEST_CHARS: Final = 20_000  # of a result; prompts show less
OF_TURNS: Final = (
    ContextCompile,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepFailed,
    StepProposed,
    ToolCall,
    ToolDenied,
    ToolEnabled,
    ToolFailed,
    ToolReturned,
)

OFFERED: Final = "context"  # field of a result
LONGEST_NAME = 200  # characters
LONGEST_CALLED = 64  # characters of a tool's name that every endpoint accepts
NO_RESULT: Final = "nothing is known of what came of it"
_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class AttemptOutcome(msgspec.Struct, frozen=True):
    """The state of a step's attempt."""

    turns: tuple[Turn, ...] = ()
    enabled: tuple[str, ...] = ()  # packs and skills, in order


class _PartialTurn(msgspec.Struct):
    """One turn, while its events are read."""

    call: int = 0  # the current model call; an earlier one may answer late
    answer: dict[str, Any] | None = None
    asked: list[str] = []  # call ids in the order of the answer's calls; "" for none
    observed: dict[str, TurnPart] = {}  # by id, in order; late ones are ignored


def turns_of(events: Iterable[Event], asked: ContextCompile, blobs: Blobs) -> AttemptOutcome:
    """The turns before *asked*, of its attempt: each with the answer and the observations.

    After going back to a step its attempts are counted again, from the newest first prompt.
    """
    turns: dict[int, _PartialTurn] = {}
    enabled: list[str] = []
    chosen: dict[str, StepProposed] = {}  # by the resulting step
    for event in (*events, asked):
        if isinstance(event, StepProposed):
            if (event.goal, event.attempt) == (asked.step_id, asked.attempt):
                chosen[event.step_id] = event
                _propose(turns, event)
            continue
        if isinstance(event, StepCompleted | StepFailed):
            if event.step_id in chosen:
                _observe(turns, chosen[event.step_id].turn, _outcome(chosen[event.step_id], event))
            continue
        about = (getattr(event, "step_id", ""), getattr(event, "attempt", 0))
        if about != (asked.step_id, asked.attempt):
            continue
        if isinstance(event, ContextCompile):
            if event.turn == 0:
                turns, enabled, chosen = {}, [], {}
            elif event.problem:
                _observe(turns, event.turn - 1, _problem(event))
            elif event.verdict:
                _observe(turns, event.turn - 1, _verdict(event))
        else:
            if isinstance(event, ToolEnabled):
                enabled.append(event.pack)
            _take_in(turns, event, blobs)
    numbers = [n for n in sorted(turns) if n < asked.turn and not _says_nothing(turns[n])]
    return AttemptOutcome(tuple(_turn(n, turns[n]) for n in numbers), tuple(dict.fromkeys(enabled)))


def _says_nothing(turn: _PartialTurn) -> bool:
    """Whether *turn* has nothing to show: no answer, or an empty one without tools.

    If a person acted, there is no answer, but the result is shown.
    """
    if turn.answer is None:
        return not turn.observed
    return is_empty(turn.answer) and not turn.answer.get("calls")


def _take_in(turns: dict[int, _PartialTurn], event: Event, blobs: Blobs) -> None:
    turn = turns.setdefault(getattr(event, "turn", 0), _PartialTurn())
    match event:
        case ModelInvoke():
            turn.call = event.call
        case ModelResponded():
            if turn.answer is None and turn.call in (0, event.call):
                turn.answer = event.answer
        case ToolCall():
            turn.asked.append(event.call_id)
        case ToolEnabled():
            turn.asked.append("")
            text = f"{event.pack} is shown from now on, where it is offered"
            said = TurnPart(id=f"turn:{event.turn}+{event.pack}", kind="enabled", text=text)
            _observe(turns, event.turn, said)
        case ToolReturned():
            if _call(event) not in turn.observed:
                _observe(turns, event.turn, _result(event, blobs))
        case ToolFailed():
            name = _in_a_line(event.tool)
            text = f"{name} gave no result ({event.kind}): {event.error}"
            said = TurnPart(id=_call(event), kind="failed", text=text, source=name)
            _observe(turns, event.turn, said)
        case ToolDenied():
            if event.call_id not in turn.asked:
                turn.asked.append(event.call_id)
            name = _in_a_line(event.tool)
            text = f"{name} was not called: {event.reason}"
            said = TurnPart(id=_call(event), kind="denied", text=text, source=name)
            _observe(turns, event.turn, said)


def _in_a_line(name: str) -> str:
    """The name of a tool as a model wrote it, which may contain anything."""
    return " ".join(name.split())[:LONGEST_NAME]


def _observe(turns: dict[int, _PartialTurn], turn: int, said: TurnPart) -> None:
    turns.setdefault(turn, _PartialTurn()).observed.setdefault(said.id, said)


def _turn(number: int, told: _PartialTurn) -> Turn:
    answer = told.answer or {}
    text = str(answer.get("text") or "")
    if not text and answer.get("data"):
        text = _json(answer["data"])
    said = TurnPart(id=f"turn:{number}", kind="answer", text=text)
    calls, results, others = _paired(number, told)
    own = (said,) if text or (told.answer is not None and not calls) else ()
    return Turn(number=number, said=(*own, *calls, *results, *others))


def _paired(
    number: int, told: _PartialTurn
) -> tuple[list[TurnPart], list[TurnPart], list[TurnPart]]:
    """The calls of a turn, one result for each, and what else was observed; each in order.

    Endpoints need exactly one result for a call: its first one. Ids are of our own
    making, because theirs may contain anything.
    """
    calls: list[TurnPart] = []
    results: list[TurnPart] = []
    others = dict(told.observed)
    made = [call for call in (told.answer or {}).get("calls") or () if isinstance(call, dict)]
    names = (*told.asked, *("" for _ in made))
    for at, (call, call_id) in enumerate(zip(made, names, strict=False)):
        joined, name = f"call_{number}_{at}", _tool_name(call)
        text = _json(call.get("arguments") or {})
        calls.append(
            TurnPart(id=f"turn:{number}.{at}", kind="call", text=text, source=name, call=joined)
        )
        found = _result_of(number, call, call_id, others)
        gone = TurnPart(id=f"turn:{number}.{at}!", kind="failed", text=NO_RESULT, source=name)
        result = others.pop(found) if found else gone
        results.append(msgspec.structs.replace(result, call=joined))
    return calls, results, [*others.values()]


def _result_of(
    number: int, call: dict[str, Any], call_id: str, observed: Mapping[str, TurnPart]
) -> str:
    """The id of the first observation of a call; "" if there is none."""
    if call_id:
        place = f"turn:{number}/{call_id}"
        tries = (f"{place}!", f"{place}+")  # of a chosen step
        return next((id_ for id_ in observed if id_ == place or id_.startswith(tries)), "")
    # Enabling a pack, or a verdict on a goal, has no id: no component is asked for it.
    arguments = call.get("arguments")
    pack = arguments.get("pack", "") if isinstance(arguments, dict) else ""
    told = (f"turn:{number}+{pack}", _id_of("verdict", number), _id_of("problem", number))
    return next((id_ for id_ in told if id_ in observed), "")


def _tool_name(call: dict[str, Any]) -> str:
    """The tool that a model called, in characters that every endpoint accepts."""
    return _NOT_A_NAME.sub("_", _in_a_line(str(call.get("tool"))))[:LONGEST_CALLED] or "_"


def _result(event: ToolReturned, blobs: Blobs) -> TurnPart:
    return TurnPart(
        id=_call(event),
        kind="result",
        text=_text(event, blobs),
        source=event.tool,
        handle=event.call_id,
        extent=f"{event.lines:,} lines, {event.bytes:,} bytes",
    )


def _call(event: ToolReturned | ToolFailed | ToolDenied) -> str:
    """The id of a call's outcome in a prompt; nothing else of a turn has a `/`."""
    return f"turn:{event.turn}/{event.call_id}"


def _propose(turns: dict[int, _PartialTurn], event: StepProposed) -> None:
    """A model's choice is a call of its turn; a person's choice is shown beside it."""
    if event.call_id:
        turns.setdefault(event.turn, _PartialTurn()).asked.append(event.call_id)
        return
    given = _json(event.parameters)
    text = f"{event.by} chose {_in_a_line(event.action)} with {given}. {event.note}".strip()
    said = TurnPart(id=f"turn:{event.turn}:{event.step_id}", kind="enabled", text=text)
    _observe(turns, event.turn, said)


def _outcome(chosen: StepProposed, event: StepCompleted | StepFailed) -> TurnPart:
    """The result of a chosen step; after a retry, the result of the retry."""
    name = _in_a_line(chosen.action)
    place = f"turn:{chosen.turn}/{chosen.call_id or chosen.step_id}"
    if isinstance(event, StepFailed):
        again = f"+{event.attempt}" if event.attempt > 1 else ""
        text = f"{name} failed ({event.kind}): {event.error}\n{event.excerpt}".strip()
        text = cut_middle(text, LONGEST_CHARS)
        return TurnPart(id=f"{place}{again}!", kind="failed", text=text, source=name)
    # The offers of a result to later prompts are in it already.
    result = {name: value for name, value in event.result.items() if name != OFFERED}
    text = "\n".join(filter(None, (event.summary, _json(result))))
    text = cut_middle(text, LONGEST_CHARS)
    return TurnPart(id=place, kind="result", text=text, source=name)


def _verdict(event: ContextCompile) -> TurnPart:
    text = f"The goal is not reached: {event.verdict}"
    return TurnPart(id=_id_of("verdict", event.turn - 1), kind="problem", text=text)


def _problem(event: ContextCompile) -> TurnPart:
    text = f"The answer was not taken: {event.problem}\nAnswer once more, so that it fits."
    return TurnPart(id=_id_of("problem", event.turn - 1), kind="problem", text=text)


def _id_of(what: str, turn: int) -> str:
    """The id in a prompt of a verdict on a goal, or of a problem with an answer."""
    return f"turn:{turn}:{what}"


def _text(event: ToolReturned, blobs: Blobs) -> str:
    try:
        text = blobs.get(event.result).decode(errors="replace")
    except BlobError:
        return f"{event.excerpt}\n[the rest is not kept any more]"
    return cut_middle(text, LONGEST_CHARS)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
