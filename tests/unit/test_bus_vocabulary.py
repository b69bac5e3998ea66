"""The vocabulary: what is let in at the door, and how old events stay readable."""

import pickle
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import (
    FORMAT,
    Appended,
    ConflictError,
    CortexError,
    Draft,
    Event,
    EventInvalidError,
    EventTooLargeError,
    Publish,
    Recorded,
    Refused,
    SchemaUnreadableError,
    TopicUnknownError,
    Upcaster,
    UpcasterError,
    Vocabulary,
    as_map,
    decode,
    encode,
)
from cortex.bus.events import VOCABULARY

from .bus_world import WORDS, HubWorld, PlanWrite, draft, ordered, refusal


class NoteTaken(Event, frozen=True, kw_only=True, tag="note.taken"):
    """Third edition: `words` was `text`, and before that there was only a title."""

    schema: ClassVar[int] = 3

    title: str
    words: tuple[str, ...]


def first_to_second(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "text": body["title"]}


def second_to_third(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "words": body.pop("text").split()}


LIFTS = [Upcaster("note.taken", 1, first_to_second), Upcaster("note.taken", 2, second_to_third)]


def recorded(schema: int, **body: object) -> Recorded:
    data = msgspec.msgpack.encode({"topic": "note.taken", **body})
    return Recorded(
        FORMAT, 7, "notes", 1, bytes(16), 1, "note.taken", schema, None, None, "t", None, None, data
    )


def test_an_old_event_is_lifted_step_by_step() -> None:
    notes = Vocabulary([NoteTaken], LIFTS)

    assert notes.read(recorded(1, title="a b")) == NoteTaken(title="a b", words=("a", "b"))
    assert notes.read(recorded(2, title="t", text="x y")) == NoteTaken(title="t", words=("x", "y"))
    assert notes.read(recorded(3, title="t", words=["z"])) == NoteTaken(title="t", words=("z",))


def test_an_event_from_a_newer_version_names_its_place() -> None:
    notes = Vocabulary([NoteTaken], LIFTS)

    with pytest.raises(SchemaUnreadableError, match=r"position 7 has schema 4 .* reads 3"):
        notes.read(recorded(4, title="t", words=[]))


@pytest.mark.parametrize("missing", [0, 1])
def test_a_gap_in_the_chain_is_refused_at_the_start(missing: int) -> None:
    with pytest.raises(UpcasterError, match=rf"from schema {missing + 1}: it is missing"):
        Vocabulary([NoteTaken], [LIFTS[1 - missing]])


@pytest.mark.parametrize(
    ("stray", "problem"),
    [
        (Upcaster("note.tkaen", 1, first_to_second), "no event here has this topic"),
        (Upcaster("note.taken", 3, first_to_second), "the schemas of NoteTaken are 1 to 3"),
        (Upcaster("note.taken", 0, first_to_second), "the schemas of NoteTaken are 1 to 3"),
        (Upcaster("note.taken", 1, second_to_third), "another one starts there, too"),
    ],
)
def test_an_upcaster_that_leads_nowhere_or_beside_another_is_refused_at_the_start(
    stray: Upcaster, problem: str
) -> None:
    with pytest.raises(UpcasterError, match=f"upcaster of {stray.topic} .*{problem}; give each"):
        Vocabulary([NoteTaken], [*LIFTS, stray])


def test_a_component_whose_event_has_no_upcaster_does_not_start() -> None:
    class Drawn(Event, frozen=True, kw_only=True, tag="x.art.drawn"):
        schema: ClassVar[int] = 2

    with pytest.raises(UpcasterError, match="from schema 1: it is missing, and Drawn has schema 2"):
        VOCABULARY.extended([Drawn])


def test_an_extended_vocabulary_keeps_its_upcasters() -> None:
    both = Vocabulary([NoteTaken], LIFTS).extended([PlanWrite])

    assert both.read(recorded(1, title="a")) == NoteTaken(title="a", words=("a",))
    assert "plan.write" in both


def test_two_classes_of_one_topic_are_refused() -> None:
    class Impostor(Event, frozen=True, kw_only=True, tag="plan.write"):
        pass

    with pytest.raises(EventInvalidError, match="Impostor"):
        Vocabulary([PlanWrite, Impostor])


@pytest.mark.parametrize(
    ("given_draft", "error"),
    [
        (Draft("plan.write", 1, "plan/p", None, b"\x80"), EventInvalidError),
        (Draft("plan.write", 1, "plan/p", None, b"not msgpack"), EventInvalidError),
        (Draft("plan.write", 2, "plan/p", None, draft().body), EventInvalidError),
        (Draft("plan.wriet", 1, "plan/p", None, draft().body), TopicUnknownError),
        (Draft("plan.write", 1, "plan/p", None, bytes(256 * 1024 + 1)), EventTooLargeError),
        (Draft("x.big", 1, "plan/p", None, bytes(256 * 1024 + 1)), EventTooLargeError),
    ],
)
def test_what_nobody_could_read_is_refused_at_the_door(
    given_draft: Draft, error: type[CortexError]
) -> None:
    with pytest.raises(error):
        WORDS.check(given_draft)
    world = HubWorld()
    assert refusal(world.one(Publish((given_draft,)))) == error.__name__
    assert world.hub.head == 0


def test_an_unknown_topic_is_told_the_nearest_one() -> None:
    with pytest.raises(TopicUnknownError, match=r"did you mean plan\.write"):
        WORDS.check(Draft("plan.wriet", 1, "p", None, b"\x80"))


def test_the_topic_of_a_plugin_is_kept_as_it_is() -> None:
    world = HubWorld()
    foreign = Draft("x.weather.asked", 9, "x/weather", "berlin", b"\x81\xa1a\x01")

    world.one(ordered("s", "x.weather.asked"))
    answer = world.one(Publish((foreign,)))

    (record,) = world.fetch("s").records
    assert answer == Appended(1, 1)
    assert (record.body, record.schema, record.key) == (foreign.body, 9, "berlin")
    assert as_map(record) == {"a": 1}
    with pytest.raises(TopicUnknownError):
        WORDS.read(record)


names = st.text(min_size=1, max_size=20)
records = st.builds(
    Recorded,
    format=st.just(FORMAT),
    position=st.integers(1, 2**60),
    stream=names,
    version=st.integers(1, 2**40),
    id=st.binary(min_size=16, max_size=16),
    time_ns=st.integers(0, 2**63 - 1),
    topic=names,
    schema=st.integers(1, 100),
    correlation=st.none() | names,
    causation=st.none() | st.integers(1, 2**60),
    source=names,
    key=st.none() | names,
    subject=st.none() | names,
    body=st.binary(max_size=100),
)


@given(records)
@settings(max_examples=200, deadline=None)
def test_a_record_survives_its_bytes(record: Recorded) -> None:
    assert decode(encode(record)) == record
    assert encode(decode(encode(record))) == encode(record)


def test_the_bytes_of_a_record_never_change() -> None:
    record = Recorded(
        1, 2, "plan/p", 3, b"\x01" * 16, 4, "plan.write", 1, "e", None, "me", "p", None, b"\x80"
    )

    assert encode(record).hex() == (
        "9e0102a6706c616e2f7003c4100101010101010101010101010101010104aa706c616e2e777269746501a165"
        "c0a26d65a170c0c40180"
    )


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x9e\x01", b"\xc1"])
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(data)


def test_every_event_of_the_vocabulary_is_told_apart_by_its_topic() -> None:
    topics = [cls.topic_name() for cls in VOCABULARY]

    assert len(set(topics)) == len(topics)
    assert all(topic.count(".") == 1 for topic in topics)


def test_a_refusal_gives_the_error_back() -> None:
    error = ConflictError("plan/p", 1, 2)

    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(Refused.of(error)), type=Refused)

    assert isinstance(sent.error(), ConflictError)
    assert str(sent.error()) == str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_refusal_of_an_unknown_kind_is_still_an_error() -> None:
    class NovelError(CortexError):
        pass

    assert "NovelError" in str(Refused.of(NovelError("what")).error())


GOOD = b"\x81\xa1a\x01"


@pytest.mark.parametrize(
    ("foreign", "problem"),
    [
        (Draft("x.a", 1, "grants", None, GOOD), "one of the runtime's own"),
        (Draft("x.a", 1, "registry", None, GOOD), "one of the runtime's own"),
        (Draft("x.a", 1, "execution/k3f9q2m7", None, GOOD), "one of the runtime's own"),
        (Draft("x.a", 1, "x", None, b""), "truncated"),
        (Draft("x.a", 1, "x", None, b"\x01"), "Expected `object`"),
        (Draft("x.a", 1, "x", None, b"\x81\x01\x01"), "Expected `str`"),
        (Draft("x.a", 1, "x", None, b"\x81\xa1a\xa2\xf8\xff"), "(?i)utf-8"),
        (Draft("x.a", 1, "x", None, b"\x81\xa1a" + b"\x91" * 5_000 + b"\x01"), "recursion"),
        (Draft("x.", 1, "x", None, GOOD), r"x\.NAME\.VERB"),
        (Draft("x.a..b", 1, "x", None, GOOD), r"x\.NAME\.VERB"),
        (Draft("x.a\n", 1, "x", None, GOOD), r"x\.NAME\.VERB"),
        (Draft("x." + "a" * 127, 1, "x", None, GOOD), "128 characters"),
    ],
)
def test_a_plugin_says_readable_things_in_streams_of_its_own(foreign: Draft, problem: str) -> None:
    with pytest.raises(EventInvalidError, match=problem):
        VOCABULARY.check(foreign)


def test_a_stream_becomes_the_runtimes_own_with_the_event_that_is_adopted() -> None:
    class Built(Event, frozen=True, kw_only=True, tag="build.ended"):
        belongs: ClassVar[tuple[str, str]] = ("build", "")

    known = Vocabulary([NoteTaken], LIFTS)
    foreign = Draft("x.a", 1, "build", None, GOOD)
    known.check(foreign)

    known.adopt([Built])

    with pytest.raises(EventInvalidError):
        known.check(foreign)


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("step.complted", "step.completed"),
        ("stp.*", "step.*"),
        ("step.", "step.*"),
        ("qqq", None),
    ],
)
def test_a_topic_that_no_event_has_is_refused_with_the_nearest(
    pattern: str, meant: str | None
) -> None:
    with pytest.raises(TopicUnknownError) as refused:
        VOCABULARY.check_pattern(pattern)

    assert refused.value.nearest == meant


def test_a_pattern_of_verbs_is_none() -> None:
    with pytest.raises(TopicUnknownError):
        VOCABULARY.check_pattern("*.failed")


@pytest.mark.parametrize("pattern", ["*", "step.*", "step.completed", "x.a.b", "x.a.*", "x.*"])
def test_a_topic_that_events_may_have_is_taken(pattern: str) -> None:
    VOCABULARY.check_pattern(pattern)
