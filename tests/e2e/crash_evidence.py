"""What a killed and resumed runtime left behind, and what in it breaks a promise."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import Event, Recorded, decode
from cortex.bus.events import VOCABULARY, ExecutionRequest, StepFailed
from cortex.runtime.executions import ENGINE, fold
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog

from .crash_world import CLIENT, EFFECTS, ENDINGS, OUTCOMES, execution_id, shape_of

Key = tuple[Any, ...]


class Run(msgspec.Struct, frozen=True):
    """One time that a handler was at work."""

    life: int  # of the runtime, 1, 2, 3, ...
    effect_key: str
    step: Key  # execution, step, attempt


class Evidence(msgspec.Struct, frozen=True):
    """Everything there is to judge by; each method lists what is wrong."""

    world: str
    folder: Path
    heads: tuple[int, ...]  # of the log after each kill
    verified: int  # position up to which the log is whole
    events: tuple[tuple[Recorded, Event], ...]
    runs: tuple[Run, ...]
    acknowledged: tuple[tuple[int, int, int], ...]  # number, first and last position

    @classmethod
    def of(cls, folder: Path, world: str, heads: Iterable[int]) -> "Evidence":
        """Read it."""
        log = EventLog.open(Home(folder / ".cortex").log_path, readonly=True)
        verified = log.verify()
        records = [decode(data) for data in log.read(0, verified + 1, 1 << 32)]
        log.close()
        known = [r for r in records if r.topic in VOCABULARY]
        return cls(
            world,
            folder,
            tuple(heads),
            verified,
            tuple((record, VOCABULARY.read(record)) for record in known),
            tuple(_runs(folder / "runs")),
            tuple(_acknowledged(folder / "acknowledged")),
        )

    def unordered(self) -> list[int]:
        """Positions that are not where they belong."""
        positions = [record.position for record, _ in self.events]
        return sorted(set(positions) ^ set(range(1, self.verified + 1)))

    def lost_or_doubled_publishes(self) -> list[str]:
        """Acknowledged publishes that are not there once, where the acknowledgement said."""
        asked = [r for r, _ in self.events if r.topic == "execution.request" and r.source == CLIENT]
        found = {r.position: r.stream for r in asked}
        wrong = [
            f"{number} was acknowledged at {first}, where there is {found.get(first)}"
            for number, first, last in self.acknowledged
            if first != last or found.get(first) != f"execution/{execution_id(number)}"
        ]
        numbers = [number for number, _, _ in self.acknowledged]
        if numbers != list(range(1, len(numbers) + 1)):
            wrong.append(f"acknowledged out of order: {numbers}")
        # One more may be on disk: killed between the commit and the journal of its acknowledgement.
        if len(asked) - len(numbers) not in (0, 1):
            wrong.append(f"{len(numbers)} were acknowledged, {len(asked)} are in the log")
        return wrong

    def doubled_records(self) -> list[Key]:
        """Questions asked twice, answers recorded twice, executions that began or ended twice."""
        counts = Counter(_identity(r, e) for r, e in self.events if _is_of_execution(r))
        return [key for key, count in counts.items() if count > 1]

    def doubled_answers(self) -> list[Key]:
        """Attempts that ended twice, but for one that ran out of time and was answered late."""
        ends: dict[Key, list[Event]] = {}
        for record, event in self.events:
            if record.topic in ("step.completed", "step.failed"):
                ends.setdefault(_step(event), []).append(event)
        return [step for step, events in ends.items() if len(events) > 1 and not _timed_out(events)]

    def unanswered_models(self) -> list[Key]:
        """Model requests that do not have one prompt before them and one answer after."""
        told = Counter((r.topic, _step(e)) for r, e in self.events if hasattr(e, "attempt"))
        asked = [_step(e) for r, e in self.events if r.topic == "model.invoke"]
        return [
            step
            for step in asked
            if told["context.compiled", step] != 1 or told["model.responded", step] != 1
        ]

    def reruns(self) -> list[str]:
        """Handlers that were at work although what they had answered before was recorded."""
        answered = {
            _step(event): self._life_of(record.position)
            for record, event in self.events
            if record.topic in ("step.completed", "step.failed") and record.source != ENGINE
        }
        late = [
            f"{r} after {answered[r.step]}"
            for r in self.runs
            if answered.get(r.step, r.life) < r.life
        ]
        twice = Counter((run.life, run.step) for run in self.runs)
        keys: dict[Key, set[str]] = {}
        for run in self.runs:
            keys.setdefault(run.step, set()).add(run.effect_key)
        return [
            *late,
            *(f"{key} twice in one life" for key, count in twice.items() if count > 1),
            *(f"{step} under {found}" for step, found in keys.items() if len(found) > 1),
        ]

    def wrong_effects(self) -> list[str]:
        """Effects that did not happen exactly once."""
        lines = {
            f.name: len(f.read_text().splitlines()) for f in (self.folder / "effects").iterdir()
        }
        expected = {
            f"{execution}-{effect}"
            for execution, shape in self.executions().items()
            for effect in EFFECTS.get(shape, ())
        }
        wrong = [f"{name}: {lines.get(name, 0)} times" for name in expected if lines.get(name) != 1]
        return wrong + [f"{name}: not expected" for name in lines.keys() - expected]

    def wrong_outcomes(self) -> list[str]:
        """Executions that did not end as their process says."""
        streams: dict[str, list[Recorded]] = {}
        for record, _ in self.events:
            streams.setdefault(record.stream, []).append(record)
        wrong = []
        for execution, shape in self.executions().items():
            state = fold(execution, streams[f"execution/{execution}"], VOCABULARY)
            ended = sum(r.topic in ENDINGS for r in streams[f"execution/{execution}"])
            expected = OUTCOMES[shape]
            found = (state.status, ended, state.outputs.get("text"), state.statuses)
            if found != ("completed", 1, expected.text, expected.statuses):
                wrong.append(f"{execution} ({shape}): {found} {state.reason}")
        return wrong

    def troubles(self) -> list[Event]:
        """Components that failed; nothing that is killed is to blame for it."""
        topics = ("component.failed", "component.restarted")
        return [event for record, event in self.events if record.topic in topics]

    def executions(self) -> dict[str, str]:
        """Process of every execution, children included."""
        requests = [event for _, event in self.events if isinstance(event, ExecutionRequest)]
        return {request.execution_id: request.process for request in requests}

    def effects(self) -> int:
        """Effects that happened."""
        return len(list((self.folder / "effects").iterdir()))

    def carried(self) -> int:
        """Steps that were asked for before a kill, and answered after it."""
        asked = {
            _step(event): self._life_of(record.position)
            for record, event in self.events
            if record.topic == "step.execute"
        }
        return sum(
            asked[_step(event)] < self._life_of(record.position)
            for record, event in self.events
            if record.topic in ("step.completed", "step.failed") and record.source != ENGINE
        )

    def repeated_runs(self) -> int:
        """Runs of a handler that a kill made necessary."""
        return len(self.runs) - len({run.step for run in self.runs})

    def misnamed(self) -> list[str]:
        """Numbered publishes that ask for something else than they did at first."""
        found = self.executions()
        return [
            execution_id(number)
            for number, _, _ in self.acknowledged
            if found.get(execution_id(number)) != shape_of(self.world, number)
        ]

    def _life_of(self, position: int) -> int:
        return bisect_left(self.heads, position) + 1


def _runs(path: Path) -> Iterator[Run]:
    for line in path.read_text().splitlines():
        life, key, execution, step, attempt = line.split()
        yield Run(int(life), key, (execution, step, int(attempt)))


def _acknowledged(path: Path) -> Iterator[tuple[int, int, int]]:
    for line in path.read_text().splitlines():
        number, first, last = map(int, line.split())
        yield number, first, last


def _is_of_execution(record: Recorded) -> bool:
    return record.stream.startswith("execution/")


def _identity(record: Recorded, event: Event) -> Key:
    """What no two events of an execution have in common."""
    names = ("step_id", "attempt", "gate", "index", "what", "purpose")
    return (record.stream, record.topic, record.source, *(getattr(event, n, None) for n in names))


def _step(event: Any) -> Key:
    return (event.execution_id, getattr(event, "step_id", ""), event.attempt)


def _timed_out(ends: list[Event]) -> bool:
    kinds = [event.kind for event in ends if isinstance(event, StepFailed)]
    return len(ends) == 2 and "timeout" in kinds
