"""The turns of a step so far, from the stream of its execution."""

from collections.abc import Iterable
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

LONGEST_CHARS: Final = 20_000  # of a result; more than any prompt shows of one
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


class AttemptOutcome(msgspec.Struct, frozen=True):
    """What became of a step's attempt so far."""

    turns: tuple[Turn, ...] = ()
    enabled: tuple[str, ...] = ()  # packs and skills, in order


class _Told(msgspec.Struct):
    """One turn, while its events are read."""

    call: int = 0  # of the model, that counts; an earlier one may answer late
    answer: dict[str, Any] | None = None
    asked: list[str] = []  # call ids in the order in which the answer has its calls; "" for none
    observed: dict[str, TurnPart] = {}  # by id, in order; what comes late does not count


def turns_of(events: Iterable[Event], asked: ContextCompile, blobs: Blobs) -> AttemptOutcome:
    """The turns before *asked*, of its attempt: each with the answer and what was observed.

    A step that is gone back to counts its attempts anew: the newest first prompt begins them.
    """
    turns: dict[int, _Told] = {}
    enabled: list[str] = []
    chosen: dict[str, StepProposed] = {}  # by the step that it became
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


def _says_nothing(turn: _Told) -> bool:
    """Whether there is nothing of *turn* to show: no answer, or an empty one that used no tools.

    Where a person acted nothing was answered, and what came of it is shown.
    """
    if turn.answer is None:
        return not turn.observed
    return is_empty(turn.answer) and not turn.answer.get("calls")


def _take_in(turns: dict[int, _Told], event: Event, blobs: Blobs) -> None:
    turn = turns.setdefault(getattr(event, "turn", 0), _Told())
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
    """The name of a tool as a model wrote it, which may hold anything."""
    return " ".join(name.split())[:LONGEST_NAME]


def _observe(turns: dict[int, _Told], turn: int, said: TurnPart) -> None:
    turns.setdefault(turn, _Told()).observed.setdefault(said.id, said)


def _turn(number: int, told: _Told) -> Turn:
    answer = told.answer or {}
    text = str(answer.get("text") or "")
    if not text and answer.get("data"):
        text = _json(answer["data"])
    lines = [text] if text else []
    calls = answer.get("calls") or ()
    names = (*told.asked, *("" for _ in calls))
    for call, call_id in zip(calls, names, strict=False):
        if isinstance(call, dict):
            # Told in words: a model takes up what it reads, and must not write its calls as text.
            what = f"{_in_a_line(str(call.get('tool')))} with {_json(call.get('arguments'))}"
            lines.append(f"(called {what}{call_id and ', as '}{call_id})")
    said = TurnPart(id=f"turn:{number}", kind="answer", text="\n".join(lines))
    own = (said,) if told.answer is not None else ()
    return Turn(number=number, said=(*own, *told.observed.values()))


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
    """What a prompt calls the outcome of a call; nothing else of a turn has a `/`."""
    return f"turn:{event.turn}/{event.call_id}"


def _propose(turns: dict[int, _Told], event: StepProposed) -> None:
    """What the model chose is a call of its turn; what a person chose is shown beside it."""
    if event.call_id:
        turns.setdefault(event.turn, _Told()).asked.append(event.call_id)
        return
    given = _json(event.parameters)
    text = f"{event.by} chose {_in_a_line(event.action)} with {given}. {event.note}".strip()
    said = TurnPart(id=f"turn:{event.turn}:{event.step_id}", kind="enabled", text=text)
    _observe(turns, event.turn, said)


def _outcome(chosen: StepProposed, event: StepCompleted | StepFailed) -> TurnPart:
    """What came of a step that was chosen; of a try after a failure, what came of that."""
    name = _in_a_line(chosen.action)
    place = f"turn:{chosen.turn}/{chosen.call_id or chosen.step_id}"
    if isinstance(event, StepFailed):
        again = f"+{event.attempt}" if event.attempt > 1 else ""
        text = f"{name} failed ({event.kind}): {event.error}\n{event.excerpt}".strip()
        text = cut_middle(text, LONGEST_CHARS)
        return TurnPart(id=f"{place}{again}!", kind="failed", text=text, source=name)
    # What a result offers to the prompts of later steps stands in it already.
    result = {name: value for name, value in event.result.items() if name != OFFERED}
    text = "\n".join(filter(None, (event.summary, _json(result))))
    text = cut_middle(text, LONGEST_CHARS)
    return TurnPart(id=place, kind="result", text=text, source=name)


def _verdict(event: ContextCompile) -> TurnPart:
    text = f"The goal is not reached: {event.verdict}"
    return TurnPart(id=f"turn:{event.turn - 1}:verdict", kind="problem", text=text)


def _problem(event: ContextCompile) -> TurnPart:
    text = f"The answer was not taken: {event.problem}\nAnswer once more, so that it fits."
    return TurnPart(id=f"turn:{event.turn - 1}:problem", kind="problem", text=text)


def _text(event: ToolReturned, blobs: Blobs) -> str:
    try:
        text = blobs.get(event.result).decode(errors="replace")
    except BlobError:
        return f"{event.excerpt}\n[the rest is not kept any more]"
    return cut_middle(text, LONGEST_CHARS)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
