"""A decorated function is a component: ids are filled in, what goes wrong is one line."""

import asyncio
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path as PlainPath
from typing import Any

import msgspec
import pytest

from cortex.bus import Event
from cortex.bus.events import (
    EffectUnknown,
    ExecutionPaused,
    GateEvaluate,
    GateEvaluated,
    StepCompleted,
    StepExecute,
    StepFailed,
    StepProgress,
)
from cortex.runtime.functions import (
    EffectUnknownError,
    Path,
    Step,
    StepError,
    Verdict,
    action,
    gate,
    on,
)
from cortex.runtime.kernel import (
    AsyncComponent,
    Component,
    ComponentInvalidError,
    Delivery,
    Forget,
    Home,
    Output,
    announcement_of,
    component_of,
    construct,
    load,
    routes_of,
)

DELIVERY = Delivery(7, 1_700_000_000_000_000_000, "Tested", "tester", "e1", 1, 1)


class CountWords(msgspec.Struct, frozen=True):
    """What `count_words` takes."""

    path: Path
    least: int = 0


@action("count_words", effect="read", needs={"code": "low"}, programs=["path"])
def count_words(asked: CountWords, step: Step) -> int:
    """Number of words in the file."""
    words = len(asked.path.read_text().split())
    if words < asked.least:
        raise StepError(f"it has {words} words", retry=False, kind="short", excerpt="a b")
    step.publish(StepProgress(execution_id=step.execution_id, step_id=step.step_id, note="read"))
    return words


class Greeted(msgspec.Struct, frozen=True):
    text: str
    where: Path | None = None


@action("greet", effect="none")
def greet(name: str, step: Step, times: int = 1) -> Greeted:
    """Say hello, so many times.

    This is not for models.
    """
    step.summary = f"said hello to {name}"
    return Greeted("hello " * times, Path(step.root / "a.txt") if step.event.workspace else None)


@action("nothing")
def nothing() -> None:
    """Do nothing."""


@action("fetch", effect="once", component="Fetcher", workers=3)
async def fetch(url: str, *, blobs: Any, home: Home | None) -> str:
    """Fetch it."""
    if url == "lost":
        raise EffectUnknownError("nobody heard of it")
    return f"{url} {blobs} {home}"


@gate("even_minute")
def even_minute(step: Step) -> Verdict:
    """Passes in every other minute."""
    minute = step.time_ns // 60_000_000_000
    if minute % 2:
        raise StepError("this minute is odd: resume in the next")
    return Verdict.passed(minute=minute % 60)


class Kept(Component):
    """Keeps something between two steps."""

    def __init__(self) -> None:
        self.count = 0

    @action("keep_one", effect="none")
    def one(self, step: Step) -> int:
        """One more."""
        self.count += 1
        return self.count

    @action("keep_text", effect="none")
    def text(self, asked: CountWords, step: Step) -> None:
        """Nothing."""

    @gate("kept", read_only=False)
    def kept(self, step: Step) -> Verdict:
        """Whether there is one."""
        return Verdict.passed() if self.count else Verdict.waiting("keep one?")


def execute(action: str, workspace: PlainPath | str = "", **parameters: Any) -> StepExecute:
    return StepExecute(
        execution_id="e1",
        step_id="s1",
        action=action,
        attempt=2,
        parameters=parameters,
        workspace=str(workspace),
    )


def answers(function: Any, event: Event, **ports: Any) -> list[Event]:
    found = component_of(function)
    assert found is not None
    made: Any = construct(found, {"home": None, **ports})
    handler = made.evaluate if isinstance(event, GateEvaluate) else made.execute
    return list(handler(event, DELIVERY))


def failure(function: Any, event: Event) -> StepFailed:
    (failed,) = answers(function, event)
    assert isinstance(failed, StepFailed)
    assert (failed.execution_id, failed.step_id, failed.attempt) == ("e1", "s1", 2)
    assert "\n" not in failed.error
    return failed


def test_ids_are_filled_in_and_a_plain_value_is_the_field_value(tmp_path: PlainPath) -> None:
    (tmp_path / "a.txt").write_text("one two three")

    noted, done = answers(count_words, execute("count_words", tmp_path, path="a.txt"))

    assert isinstance(noted, StepProgress)
    assert done == StepCompleted(
        execution_id="e1", step_id="s1", attempt=2, result={"value": 3}, summary="3"
    )


def test_parameters_may_stand_in_the_function(tmp_path: PlainPath) -> None:
    (done,) = answers(greet, execute("greet", tmp_path, name="Ada", times=2))

    assert isinstance(done, StepCompleted)
    assert done.result == {"text": "hello hello ", "where": "a.txt"}
    assert done.summary == "said hello to Ada"


def test_what_gives_nothing_completes_with_an_empty_result() -> None:
    (done,) = answers(nothing, execute("nothing"))

    assert isinstance(done, StepCompleted)
    assert (done.result, done.summary) == ({}, "")


def test_what_is_left_out_by_an_earlier_step_counts_as_left_out() -> None:
    (done,) = answers(greet, execute("greet", name="Ada", times=None))

    assert isinstance(done, StepCompleted)
    assert done.result["text"] == "hello "


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "greet: needs `name`"),
        ({"name": 3}, "greet: `name` is the number 3, expected a string"),
        ({"name": "Ada", "times": "two"}, "greet: `times` is the text 'two', expected an integer"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(given: dict[str, Any], problem: str) -> None:
    failed = failure(greet, execute("greet", **given))

    assert (failed.error, failed.kind, failed.retry) == (problem, "refused", False)


def test_a_step_error_fails_the_step_as_it_says(tmp_path: PlainPath) -> None:
    (tmp_path / "a.txt").write_text("one")

    failed = failure(count_words, execute("count_words", tmp_path, path="a.txt", least=9))

    assert failed.error == "it has 1 words"
    assert (failed.kind, failed.retry, failed.excerpt) == ("short", False, "a b")


def test_any_other_error_is_a_defect_and_is_raised(tmp_path: PlainPath) -> None:
    with pytest.raises(FileNotFoundError):
        answers(count_words, execute("count_words", tmp_path, path="gone"))


def test_a_step_error_survives_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(StepError("no", retry=False, kind="refused")))

    assert (str(error), error.retry, error.kind) == ("no", False, "refused")


def test_a_gate_gives_a_verdict_and_an_error_is_a_gate_that_failed() -> None:
    event = GateEvaluate(execution_id="e1", gate="even_minute", index=3, step_id="s1", attempt=4)

    (said,) = answers(even_minute, event)

    assert said == GateEvaluated(
        execution_id="e1",
        gate="even_minute",
        index=3,
        step_id="s1",
        attempt=4,
        outcome="failed",
        reason="this minute is odd: resume in the next",
    )


def test_an_async_function_runs_beside_others_with_its_ports() -> None:
    found = component_of(fetch)
    assert found is not None

    made: Any = construct(found, {"blobs": "B", "home": None, "config": 1})

    async def said(url: str) -> list[Event]:
        return [each async for each in made.execute(execute("fetch", url=url), DELIVERY)]

    (done,), (lost,) = asyncio.run(said("x")), asyncio.run(said("lost"))
    assert issubclass(found, AsyncComponent)
    assert done.result == {"value": "x B None"}  # type: ignore[attr-defined]
    assert isinstance(lost, EffectUnknown)
    assert (lost.effect_key, lost.reason) == (DELIVERY.effect_key(), "nobody heard of it")


def test_what_a_function_announces_comes_from_its_annotations() -> None:
    found = component_of(count_words)
    assert found is not None
    (serves,) = found.serves

    said = announcement_of(found, serves)

    assert (said.component, said.kind, said.name) == ("CountWords", "action", "count_words")
    assert said.parameters["$defs"]["CountWords"]["properties"]["path"] == {"type": "string"}
    assert said.result["$defs"]["CountWordsResult"]["properties"] == {"value": {"type": "integer"}}
    assert said.traits == {"needs": {"code": "low"}, "programs": ["path"], "effect": "read"}


def test_the_first_paragraph_of_a_docstring_describes_parameters_in_a_function() -> None:
    found = component_of(greet)
    assert found is not None
    assert found.serves[0].parameters is not None

    assert found.serves[0].parameters.__doc__ == "Say hello, so many times."


def test_a_component_is_named_by_what_it_serves_or_explicitly_and_not_by_its_function() -> None:
    names = {each: component_of(each) for each in (greet, fetch, even_minute)}

    assert [each.component_name() for each in names.values() if each] == [
        "Greet",
        "Fetcher",
        "EvenMinute",
    ]
    assert [each.workers for each in names.values() if each] == [1, 3, 1]


def test_an_import_string_names_a_decorated_function() -> None:
    found = load(f"{__name__}:greet")

    assert found is component_of(greet)
    assert f"{found.__module__}:{found.__qualname__}" == f"{__name__}:greet"


def test_a_decorated_function_is_still_a_function(tmp_path: PlainPath) -> None:
    (tmp_path / "a.txt").write_text("one two")

    assert nothing() is None
    assert count_words(CountWords(Path(tmp_path / "a.txt")), Step(execute("x"), DELIVERY)) == 2


def test_methods_share_what_their_component_keeps() -> None:
    kept = Kept()
    waiting = list(kept.kept(GateEvaluate(execution_id="e1", gate="kept"), DELIVERY))
    done = [next(kept.one(execute("keep_one"), DELIVERY)) for _ in range(2)]
    passed = list(kept.kept(GateEvaluate(execution_id="e1", gate="kept"), DELIVERY))

    assert [each.outcome for each in (*waiting, *passed)] == ["waiting", "passed"]
    assert [each.result for each in done] == [{"value": 1}, {"value": 2}]  # type: ignore[attr-defined]
    assert [(each.kind, each.name) for each in Kept.serves] == [
        ("action", "keep_one"),
        ("action", "keep_text"),
        ("gate", "kept"),
    ]
    assert Kept.workers == 1
    assert len(routes_of(Kept)) == 3


def test_a_subclass_that_serves_something_otherwise_replaces_it_and_keeps_the_rest() -> None:
    class More(Kept):
        workers = 2

        @action("keep_one", effect="once")
        def one(self, step: Step) -> int:
            """Another."""
            return 0

    assert [(each.name, each.effect) for each in More.serves] == [
        ("keep_text", "none"),
        ("kept", None),
        ("keep_one", "once"),
    ]
    assert (More.workers, Kept.workers) == (2, 1)


def of(make: Callable[[], Any]) -> str:
    with pytest.raises(ComponentInvalidError) as raised:
        make()
    return str(raised.value)


def test_what_cannot_be_served_says_why_in_one_line() -> None:
    def untyped(name) -> None: ...  # type: ignore[no-untyped-def]

    def silent(name: str): ...  # type: ignore[no-untyped-def]

    def rest(*names: str) -> None: ...

    def unknown(name: "Nobody") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    def no_verdict() -> bool:
        return True

    assert of(lambda: action("a")(untyped)) == "a does not say the type of 'name'"
    assert "a has no return type" in of(lambda: action("a")(silent))
    assert "give each parameter a name" in of(lambda: action("a")(rest))
    assert "annotations that cannot be read" in of(lambda: action("a")(unknown))
    assert "it gives a Verdict" in of(lambda: gate("a")(no_verdict))  # type: ignore[arg-type]
    assert "name a component" in of(lambda: action("123")(nothing))
    with pytest.raises(ComponentInvalidError, match="say workers in its class"):

        class Crew(Component):
            @action("crew", workers=2)
            def crew(self, step: Step) -> None:
                """Nothing."""

    with pytest.raises(ComponentInvalidError, match="async slow: use AsyncComponent"):

        class Slow(Component):
            @action("slow")
            async def slow(self, step: Step) -> None:
                """Nothing."""


def test_a_type_that_cannot_be_described_says_which() -> None:
    @action("odd")
    def odd(what: dict[str, object]) -> None: ...

    found = component_of(odd)
    assert found is not None

    said = of(lambda: announcement_of(found, found.serves[0]))

    assert said == (
        "odd has a type in OddParameters that JSON Schema cannot describe: "
        "type <class 'object'> is not supported"
    )


SEEN: list[str] = []


@on(ExecutionPaused, component="Reminder", start="beginning")
@on(StepCompleted)
def remind(event: Event, delivery: Delivery, *, settings: dict[str, Any]) -> Iterator[Output]:
    """Say what was seen."""
    SEEN.append(f"{event.topic_name()} {settings}")
    yield Forget("reminder")


@on(StepCompleted)
def note_one(event: StepCompleted) -> StepProgress:
    return StepProgress(execution_id=event.execution_id, step_id=event.step_id, note="x")


@on(StepExecute, where={"action": "x"})
async def note_later(event: StepExecute) -> None:
    SEEN.append(event.step_id)


def test_a_function_gets_events_as_a_method_does() -> None:
    found = component_of(remind)
    assert found is not None
    made: Any = construct(found, {"settings": {"a": 1}, "home": None})
    event = ExecutionPaused(execution_id="e1", reason="x")

    given = list(made.handle(event, DELIVERY))

    assert given == [Forget("reminder")]
    assert SEEN.pop() == "execution.paused {'a': 1}"
    assert (found.component_name(), found.start, found.workers) == ("Reminder", "beginning", 0)
    assert {(r.event, r.key) for r in routes_of(found)} == {
        (StepCompleted, None),
        (ExecutionPaused, None),
    }


def test_a_function_returns_one_event_and_may_leave_the_delivery_out() -> None:
    found = component_of(note_one)
    assert found is not None
    made: Any = found()

    (given,) = made.handle(StepCompleted(execution_id="e1", step_id="s1"), DELIVERY)

    assert isinstance(given, StepProgress)
    assert found.component_name() == "NoteOne"


def test_an_async_function_that_gets_events_is_an_async_component() -> None:
    found = component_of(note_later)

    assert found is not None
    assert issubclass(found, AsyncComponent)
    assert [(route.event, route.key) for route in routes_of(found)] == [(StepExecute, "x")]


def test_a_function_takes_an_event_and_at_most_its_delivery() -> None:
    def three(event: Event, delivery: Delivery, more: int) -> None: ...

    assert "takes the event" in of(lambda: on(StepCompleted)(three))
