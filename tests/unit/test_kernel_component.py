"""Components: which events go to which method, and what a handler may say."""

from collections.abc import Iterator
from typing import Any

import pytest

from cortex.bus import RESERVED, Due, Ephemeral, Event, Query, Recorded
from cortex.runtime.kernel import (
    Component,
    ComponentInvalidError,
    Delivery,
    Forget,
    Later,
    Output,
    on,
    routes_of,
)

from .bus_world import NOON_NS, PlanGlanced, PlanWrite, PlanWritten, draft
from .kernel_world import PLANS, host


class PlanCount(Query, frozen=True, kw_only=True, tag="plan.count"):
    pass


def record(plan: str = "p", position: int = 7) -> Recorded:
    made = draft(plan)
    return Recorded(
        1, position, made.stream, 1, b"", NOON_NS, made.topic, 1, "e", 3, "me", made.key, None,
        made.body,
    )  # fmt: skip


def hosted(component: type[Component]) -> tuple[Any, list[object]]:
    emitted: list[object] = []
    made = host.LocalHost(component, PLANS.extended([PlanCount]), emitted.append)
    made.start()
    return made, emitted


def handled(component: type[Component], *records: Recorded) -> Any:
    made, _ = hosted(component)
    return made.handle(records, 1)


def test_where_must_name_the_routing_field() -> None:
    with pytest.raises(ComponentInvalidError, match=r"plan\.write is routed by plan, not by text"):
        on(PlanWrite, where={"text": "x"})
    with pytest.raises(ComponentInvalidError, match="is routed by None"):
        on(PlanWritten, where={"plan": "x"})


def test_two_methods_for_one_route_are_refused() -> None:
    class Torn(Component):
        @on(PlanWrite)
        def one(self, event: PlanWrite, delivery: Delivery) -> None: ...

        @on(PlanWrite)
        def other(self, event: PlanWrite, delivery: Delivery) -> None: ...

    with pytest.raises(ComponentInvalidError, match="one and other both handle"):
        routes_of(Torn)


def test_a_component_that_handles_nothing_is_refused() -> None:
    class Idler(Component):
        pass

    with pytest.raises(ComponentInvalidError, match="handles nothing"):
        routes_of(Idler)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_no_component_has_a_name_by_which_the_person_speaks(name: str) -> None:

    named = type(name, (Component,), {"written": on(PlanWritten)(lambda *_: None)})

    with pytest.raises(ComponentInvalidError, match="of the runtime's own"):
        routes_of(named)


def test_the_handler_of_a_key_comes_before_the_one_of_the_topic() -> None:
    class Both(Component):
        @on(PlanWrite)
        def any_of_them(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
            yield PlanWritten(plan="any")

        @on(PlanWrite, where={"plan": "a"})
        def this_one(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
            yield PlanWritten(plan="this")

    outcome = handled(Both, record("a"), record("b"))

    streams = [d.stream for effects in outcome.done for d in effects.events]
    assert streams == ["plan/this", "plan/any"]


def test_ids_and_keys_of_a_delivery_are_the_same_at_every_replay() -> None:
    delivery = Delivery(position=7, time_ns=NOON_NS, component="C")
    again = Delivery(position=7, time_ns=NOON_NS, component="C", attempt=2)
    other = Delivery(position=8, time_ns=NOON_NS, component="C")

    assert delivery.new_id() == again.new_id() == "n3ra5h3xw3tdx5gh"
    assert delivery.effect_key() == again.effect_key() == f"7/{delivery.time_ns}/C/0"
    assert len({delivery.new_id(), delivery.new_id(1), other.new_id()}) == 3


def test_outputs_carry_what_caused_them() -> None:
    class Writer(Component):
        @on(PlanWrite)
        def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
            yield PlanWritten(plan="q")
            yield Later("d", delivery.time_ns + 5, PlanWritten(plan="later"))

    (effects,) = handled(Writer, record()).done

    (event,), (due,) = effects.events, effects.due
    assert (event.correlation, event.causation) == ("e", 7)
    assert isinstance(due, Due)
    assert (due.name, due.due_ns, due.draft.causation) == ("d", NOON_NS + 5, 7)


@pytest.mark.parametrize(
    ("said", "due", "forgotten"),
    [
        ("set", ["d"], []),
        ("set forget", [], ["d"]),
        ("forget set", ["d"], ["d"]),
        ("set set", ["d"], []),
    ],
)
def test_the_last_word_on_a_deadline_counts(
    said: str, due: list[str], forgotten: list[str]
) -> None:
    class Arming(Component):
        @on(PlanWrite)
        def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
            for word in said.split():
                later = Later("d", 5, PlanWritten(plan=word))
                yield later if word == "set" else Forget("d")

    (effects,) = handled(Arming, record()).done

    assert [d.name for d in effects.due] == due
    assert list(effects.forget) == forgotten


def test_ephemeral_events_leave_at_once_even_if_the_handler_fails_later() -> None:
    class Telling(Component):
        @on(PlanWrite)
        def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
            yield PlanGlanced(plan="p")
            raise OSError("no\nsecond line")

    made, emitted = hosted(Telling)
    outcome = made.handle([record()], 1)

    assert len(emitted) == 1
    assert (outcome.done, outcome.failure) == ([], "OSError: no")


def test_a_page_is_handled_up_to_the_event_that_fails() -> None:
    class Picky(Component):
        @on(PlanWrite)
        def write(self, event: PlanWrite, delivery: Delivery) -> None:
            if event.plan == "bad":
                raise ValueError(event.plan)

    outcome = handled(Picky, record("a"), record("bad"), record("b"))

    assert len(outcome.done) == 1
    assert outcome.failure == "ValueError: bad"


class Unheard(Event, frozen=True, kw_only=True, tag="plan.unheard"):
    pass


class Loud(Ephemeral, frozen=True, kw_only=True, tag="plan.loud"):
    pass


@pytest.mark.parametrize("output", [Unheard(), Loud(), "text", None, PlanWrite(plan=5)])  # type: ignore[arg-type]
def test_what_cannot_be_published_is_the_fault_of_its_event(output: object) -> None:
    class Babbling(Component):
        @on(PlanWrite)
        def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[object]:
            yield output

    outcome = handled(Babbling, record())

    assert outcome.done == []
    assert outcome.failure


def test_an_event_that_is_for_nobody_has_no_effect() -> None:
    class KeyOnly(Component):
        @on(PlanWrite, where={"plan": "a"})
        def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
            yield PlanWritten(plan="q")

    outcome = handled(KeyOnly, record("other"))

    assert outcome.done[0].events == ()


def test_a_query_is_answered_by_its_first_event_or_not_at_all() -> None:
    class Counting(Component):
        silent = False

        @on(PlanCount)
        def count(self, event: PlanCount, delivery: Delivery) -> Iterator[Output]:
            if not self.silent:
                yield PlanWritten(plan="1")

    class Silent(Counting):
        silent = True

    assert hosted(Counting)[0].answer(PlanCount()) == PlanWritten(plan="1")
    with pytest.raises(ComponentInvalidError, match=r"returned no answer to plan\.count"):
        hosted(Silent)[0].answer(PlanCount())
