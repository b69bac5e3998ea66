"""Where two executions part: the first event that is not the same in both.

Ids and times of two runs never agree. So each id of an execution counts as what it is to its own
execution, and durations and keys of effects are left out. So are the digests of what names
positions of the log: the manifest of a prompt, and what it was compiled from. The prompt counts.
"""

from typing import Any, Final

from cortex.bus import Recorded
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    EffectIntended,
    ExecutionRequest,
    ModelSelected,
    StepDelegated,
)
from cortex.runtime.executions.view import History, rows_of
from cortex.runtime.replay import Decision, changes_between, of_record

from .sides import HistoryDiff, Side, side_of

# What differs in each run of the same work.
_OF_A_RUN: Final = frozenset(
    ("duration_s", "effect_key", "endpoint_s", "requested_by", "seen", "took_s", "waited_s")
)
# How a fork or a what-if uses the record: what is the same there counts as the same.
_OF_RECORD: Final = frozenset(
    ("anew", "component", "fork_of", "found", "from_step", "host", "most", "priced", "recorded")
) | {"because", "decider", "model_by", "variation"}
# Where a fork or a what-if asks for the same in other words: the fields, or all of them.
_IN_OTHER_WORDS: Final = {
    ExecutionRequest.topic_name(): frozenset[str](),
    ContextCompile.topic_name(): frozenset(("model",)),  # `context.compiled` says which it is for
}
# What has no counterpart there: an effect does not happen again, and a model is not chosen anew.
_NOT_AGAIN: Final = (EffectIntended.topic_name(), ModelSelected.topic_name())
_COMPILED: Final = ContextCompiled.topic_name()
_NAMES_POSITIONS: Final = frozenset(("manifest", "inputs"))  # of a compiled prompt


def diff_executions(history: History, a: str, b: str) -> HistoryDiff:
    """Where the executions *a* and *b* part, and what each has from there.

    Raises:
        CortexError: The log cannot be read.
    """
    pair_of = frozenset((a, b))
    ours, theirs = _Told(history, a, pair_of), _Told(history, b, pair_of)
    common = 0
    for mine, other in zip(ours.records, theirs.records, strict=False):
        if not _is_same(ours.decision(mine), theirs.decision(other)):
            break
        common += 1
    parts = common < max(len(ours.records), len(theirs.records))
    pair = [next(map(told.decision, told.records[common:]), None) for told in (ours, theirs)]
    return HistoryDiff(
        kind="executions",
        common=common,
        parted=common + 1 if parts else None,
        a=ours.side(common),
        b=theirs.side(common),
        changes=changes_between(pair[0], pair[1]) if parts else (),
    )


class _Told:
    """The events of one execution, with its ids in words."""

    def __init__(self, history: History, execution_id: str, pair_of: frozenset[str]) -> None:
        self._history, self._id = history, execution_id
        self.records = [record for record, _ in rows_of(history, execution_id)]
        self._varies = any(_is_variation(history, each, pair_of) for each in pair_of)
        if self._varies:
            self.records = [record for record in self.records if record.topic not in _NOT_AGAIN]
        self._ids = {execution_id: "(this execution)"}
        for record in self.records:
            event = history.event(record)
            if isinstance(event, StepDelegated):
                item = f" item {event.item}" if event.item else ""
                self._ids[event.child] = f"(child of {event.step_id}{item})"
        started = history.execution(execution_id).started
        if started is not None and started.trigger:
            self._ids[started.trigger] = "(its trigger)"

    def decision(self, record: Recorded) -> Decision:
        """What *record* decided, whatever its execution is called."""
        found = of_record(record)
        body = found.body
        if found.topic == _COMPILED:
            body = {name: each for name, each in body.items() if name not in _NAMES_POSITIONS}
        if self._varies and found.topic in _IN_OTHER_WORDS:
            left_out = _IN_OTHER_WORDS[found.topic] or frozenset(body)
            body = {name: each for name, each in body.items() if name not in left_out}
        return Decision(found.topic, "", self._said(body), found.position)

    def side(self, common: int) -> Side:
        """What it has behind its first *common* events."""
        status = self._history.execution(self._id).status
        behind: list[Recorded] = self.records[common:]
        return side_of(f"execution {self._id}", len(self.records), behind, status=status)

    def _said(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._ids.get(value, value)
        if isinstance(value, dict):
            left_out = _OF_A_RUN | _OF_RECORD if self._varies else _OF_A_RUN
            kept = {name: each for name, each in value.items() if name not in left_out}
            return {name: self._said(each) for name, each in kept.items()}
        return [self._said(each) for each in value] if isinstance(value, list) else value


def _is_variation(history: History, execution_id: str, pair_of: frozenset[str]) -> bool:
    """Whether an execution is a fork or a what-if of the other one of the two."""
    started = history.execution(execution_id).started
    return started is not None and started.variation is not None and started.fork_of in pair_of


def _is_same(a: Decision, b: Decision) -> bool:
    return (a.topic, a.body) == (b.topic, b.body)
