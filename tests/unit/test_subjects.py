"""Subjects: their keys, what is encrypted with them, and what is left without."""

import stat
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.bus import (
    ENCRYPTED,
    ERASED,
    FORMAT,
    Batch,
    Client,
    CortexError,
    Deadline,
    Draft,
    Due,
    Event,
    EventInvalidError,
    Hub,
    LocalHub,
    Publish,
    Recorded,
    Row,
    SystemClock,
    as_map,
    decode,
    encode,
    personal_fields,
    placeholder,
    serving,
    system_entropy,
)
from cortex.bus.events import VOCABULARY, ExecutionRequest, StepCompleted
from cortex.runtime.log import BlobMissingError, MemoryBlobs, MemoryLog
from cortex.runtime.subjects import (
    BlobErasedError,
    HubSubjects,
    PersonalBlobs,
    PersonalLog,
    SubjectErasedError,
    SubjectKeyError,
    SubjectKeys,
    decrypted,
    encrypted,
)

ANNA = "anna@example.org"


class Called(Event, frozen=True, kw_only=True, tag="call.ended"):
    """A person called."""

    belongs = ("call", "call_id")
    routing = "line"
    subject_field = "person"

    call_id: str
    line: str
    person: str
    minutes: int = 0
    mood: Literal["good", "bad"] = "good"
    words: tuple[str, ...] = ()


class Rated(Event, frozen=True, kw_only=True, tag="call.rated"):
    """How it was; only the note is personal."""

    belongs = ("call", "call_id")
    personal = ("note",)

    call_id: str
    stars: int
    note: str


class Strict(Event, frozen=True, kw_only=True, tag="call.strict"):
    """No placeholder fits into its field."""

    belongs = ("call", "call_id")

    call_id: str
    number: msgspec.UnsetType


class World:
    """A hub in memory with the keys of subjects."""

    def __init__(self) -> None:
        self.keys, self.stored = SubjectKeys(None), MemoryLog()
        self.words = VOCABULARY.extended((Called, Rated, Strict))
        self.log = PersonalLog(self.stored, self.keys, self.words)
        port = HubSubjects(self.keys, self.log, self.words)
        self.state = Hub(self.log, self.words, system_entropy, subjects=port)
        self.hub = LocalHub(self.state, SystemClock())
        self.client = Client("tests", self.hub, self.log, self.words)

    def at(self, position: int) -> Recorded:
        """What is stored."""
        return decode(self.stored.read(position - 1, 1, 1)[0])

    def seen(self, position: int) -> Event:
        """What is read."""
        return self.words.read(decode(self.log.read(position - 1, 1, 1)[0]))


@pytest.fixture
def world() -> Any:
    made = World()
    yield made
    made.hub.close()


CALLED = Called(call_id="c1", line="north", person=ANNA, minutes=7, words=("secret",))


def test_an_event_with_a_subject_is_stored_encrypted_and_read_as_it_was(world: World) -> None:
    position = world.client.publish(CALLED)
    stored = world.at(position)

    assert stored.format == ENCRYPTED
    assert stored.subject != ANNA
    assert b"secret" not in encode(stored)
    assert ANNA.encode() not in encode(stored)
    assert world.seen(position) == CALLED


def test_without_its_key_an_event_has_placeholders_and_says_so(world: World) -> None:
    position = world.client.publish(CALLED)
    world.keys.destroy(world.at(position).subject or "")
    record = decode(world.log.read(position - 1, 1, 1)[0])

    assert record.erased
    assert world.words.read(record) == Called(call_id="c1", line="north", person=ERASED)
    assert as_map(world.at(position))["person"] == ERASED  # also where nobody decrypts


def test_only_the_fields_that_a_class_calls_personal_are_encrypted(world: World) -> None:
    position = world.client.publish(Rated(call_id="c", stars=4, note="rude"), subject=ANNA)
    assert world.seen(position) == Rated(call_id="c", stars=4, note="rude")

    world.keys.destroy(world.at(position).subject or "")

    assert world.seen(position) == Rated(call_id="c", stars=4, note=ERASED)


def test_a_name_that_would_be_recorded_in_clear_is_refused(world: World) -> None:
    with pytest.raises(EventInvalidError, match="its stream holds the name of its subject"):
        world.client.publish(Rated(call_id=f"call of {ANNA}", stars=1, note=""), subject=ANNA)

    assert world.state.head == 0


def test_a_class_into_which_no_placeholder_fits_is_refused_a_subject(world: World) -> None:
    draft = Draft(
        "call.strict", 1, "call/c", None, msgspec.msgpack.encode({"topic": "call.strict"})
    )

    with pytest.raises(EventInvalidError, match="cannot be personal"):
        HubSubjects(world.keys, world.log, world.words).named(
            msgspec.structs.replace(draft, subject=ANNA)
        )


def test_events_inherit_the_subject_of_their_execution_and_of_their_cause(world: World) -> None:
    request = ExecutionRequest(execution_id="e1", goal="g", subject=ANNA)
    first = world.client.publish(request)
    done = StepCompleted(execution_id="e1", step_id="s", result={"text": "secret"}, summary="x")
    served = world.client.publish(done)
    caused = world.client.publish(Rated(call_id="c", stars=1, note="secret"), causation=served)
    other = world.client.publish(Rated(call_id="d", stars=1, note="plain"))

    whose = [world.at(at).subject for at in (first, served, caused, other)]
    assert whose == [whose[0], whose[0], whose[0], None]
    assert whose[0] is not None
    assert b"secret" not in b"".join(encode(world.at(at)) for at in (first, served, caused))
    assert world.seen(served) == done


def test_an_unfit_event_that_inherits_a_subject_is_recorded_all_the_same(world: World) -> None:
    world.client.publish(CALLED)
    body = msgspec.msgpack.encode({"topic": "call.strict", "call_id": "c", "number": 1})
    draft = Draft("call.strict", 1, "call/c", None, body, causation=1)
    hub = HubSubjects(world.keys, world.log, world.words)
    inherited = hub.inherited(draft, world.at)
    record = msgspec.structs.replace(_record(inherited.subject, body), topic="call.strict")
    world.log.write(Batch(rows=[Row(2, "s", 1, encode(record), record.subject)]))

    assert world.at(2).format == ENCRYPTED
    assert as_map(world.at(2)) == {"topic": "call.strict"}


def test_events_that_are_published_together_inherit_from_each_other(world: World) -> None:
    request = ExecutionRequest(execution_id="e1", goal="g", subject=ANNA)
    done = StepCompleted(execution_id="e1", step_id="s", result={"text": "secret"}, summary="x")
    last = world.client.publish(request, done)

    assert world.at(last).subject == world.at(last - 1).subject is not None


def test_another_hub_on_the_log_finds_the_subject_of_an_execution(world: World) -> None:
    world.client.publish(ExecutionRequest(execution_id="e1", goal="g", subject=ANNA))
    port = HubSubjects(world.keys, world.log, world.words)
    hub = LocalHub(Hub(world.log, world.words, system_entropy, subjects=port), SystemClock())
    done = StepCompleted(execution_id="e1", step_id="s", result={}, summary="secret")
    last = Client("tests", hub, world.log, world.words).publish(done)
    hub.close()

    assert world.at(last).subject == world.at(1).subject


def test_what_comes_after_an_erasure_is_never_stored_readable(world: World) -> None:
    first = world.client.publish(ExecutionRequest(execution_id="e1", goal="g", subject=ANNA))
    world.keys.destroy(world.at(first).subject or "")
    feed = world.client.follow(("step.completed", None))
    last = world.client.publish(
        StepCompleted(execution_id="e1", step_id="s", result={"text": "secret"}, summary="x")
    )
    (record,) = feed.next(5.0)
    feed.close()

    assert b"secret" not in encode(world.at(last))
    assert b"secret" not in record.body  # not in the hub's memory, either
    assert world.at(last).subject == world.at(first).subject


def test_an_event_that_waits_for_its_time_is_encrypted_and_comes_as_it_was(world: World) -> None:
    later = 1 << 62
    draft = Draft.of(CALLED)
    world.hub.ask_one("tests", Publish((), due=(Due("late", later, draft),)))
    (stored,) = world.stored.state().deadlines
    (known,) = world.log.state().deadlines

    assert b"secret" not in stored.draft
    assert ANNA.encode() not in stored.draft
    assert b"secret" in known.draft
    assert not world.state.astray()
    world.state.tick(later)
    assert world.seen(1) == CALLED
    assert b"secret" not in encode(world.at(1))


def test_an_unused_home_pays_and_changes_nothing(tmp_path: Path) -> None:
    keys, stored = SubjectKeys(tmp_path / "keys" / "subjects"), MemoryLog()
    log = PersonalLog(stored, keys)
    record = _record(None)
    log.write(Batch(rows=[Row(1, "s", 1, encode(record))], deadlines={"d": _deadline()}))

    assert list(log.read(0, 9, 99)) == [encode(record)]
    assert not keys.used
    assert not (tmp_path / "keys").exists()


def test_a_key_is_private_and_known_by_name_and_id(tmp_path: Path) -> None:
    keys = SubjectKeys.of_home(tmp_path)
    made = keys.id_of(ANNA)
    (path,) = (tmp_path / "keys" / "subjects").glob("*.key")
    others = SubjectKeys.of_home(tmp_path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700  # `keys/`, if it is new
    assert made in path.name
    assert ANNA not in path.name
    assert others.id_of(ANNA) == others.id_of(made) == made
    assert others.id_of("bert") != made
    assert [each.name for each in keys.all()] == [ANNA, "bert"]


def test_a_destroyed_key_is_gone_from_its_file_and_from_memory(tmp_path: Path) -> None:
    keys = SubjectKeys(tmp_path / "subjects")
    made = keys.id_of(ANNA)
    (path,) = (tmp_path / "subjects").glob("*.key")
    link = tmp_path / "link"
    link.hardlink_to(path)
    keys.destroy(made)
    keys.destroy(made)

    assert keys.get(made) is None
    assert not path.exists()
    assert not link.read_bytes().strip(b"\0")
    assert keys.id_of(ANNA) != made


def test_a_key_that_cannot_be_read_is_reported_with_its_file(tmp_path: Path) -> None:
    keys = SubjectKeys(tmp_path / "subjects")
    made = keys.id_of(ANNA)
    (path,) = (tmp_path / "subjects").glob("*.key")
    path.write_text("{}")

    with pytest.raises(SubjectKeyError, match=r"restore keys/ from its backup"):
        SubjectKeys(tmp_path / "subjects").get(made)


def test_a_blob_of_a_subject_is_stored_encrypted_under_the_digest_of_what_is_stored() -> None:
    store, keys = MemoryBlobs(), SubjectKeys(None)
    blobs = PersonalBlobs(store, keys)
    with serving(ANNA):
        first, again = blobs.put(b"secret words"), blobs.put(b"secret words")
    plain = blobs.put(b"secret words")

    assert first == again != plain
    assert b"secret" not in store.get(first)
    assert blobs.get(first) == blobs.get(plain) == b"secret words"
    assert blobs.size(first) == len(b"secret words")


def test_a_blob_whose_key_is_gone_counts_as_missing() -> None:
    keys = SubjectKeys(None)
    blobs = PersonalBlobs(MemoryBlobs(), keys)
    with serving(ANNA):
        digest = blobs.put(b"secret words")
    subject = keys.id_of(ANNA)
    keys.destroy(subject)

    with pytest.raises(BlobErasedError, match="erased") as caught:
        blobs.get(digest)
    assert isinstance(caught.value, BlobMissingError)
    assert blobs.has(digest)
    with serving(subject), pytest.raises(SubjectErasedError, match="nothing was stored"):
        blobs.put(b"more words")


@given(st.binary(max_size=3_000), st.text(min_size=1, max_size=40))
def test_any_blob_comes_back_as_it_was(data: bytes, name: str) -> None:
    blobs = PersonalBlobs(MemoryBlobs(), SubjectKeys(None))
    with serving(name):
        digest = blobs.put(data)

    assert blobs.get(digest) == data


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_changed_or_moved_body_is_not_decrypted(body: bytes, data: st.DataObject) -> None:
    keys = SubjectKeys(None)
    subject = keys.get(keys.id_of(ANNA))
    assert subject is not None
    record = _record(subject.id, body)
    stored = encrypted(record, b"\x80", subject.key, bytes(12))
    assert decrypted(stored, keys.get) == record
    parts = list(msgspec.msgpack.decode(stored.body))
    at = data.draw(st.integers(1, 3))
    parts[at] = bytes([parts[at][0] ^ 1]) + parts[at][1:]
    changed = msgspec.structs.replace(stored, body=msgspec.msgpack.encode(parts))
    moved = msgspec.structs.replace(stored, id=b"\1" * 16)

    for wrong in (changed, moved):
        with pytest.raises(CortexError, match="was not encrypted with the key"):
            decrypted(wrong, keys.get)


@pytest.mark.parametrize("cls", list(VOCABULARY), ids=lambda cls: cls.topic_name())
def test_every_event_of_the_runtime_can_be_read_after_an_erasure(cls: type[Event]) -> None:
    whole = msgspec.msgpack.encode(_filled(cls))
    left = placeholder(cls, cls.topic_name(), whole)

    read = msgspec.msgpack.decode(left, type=cls)
    assert b"SEED" not in left
    assert "SEED" not in repr(read)


# Blobs of a subject are encrypted, and named by what is stored.
NAMES_OF_BLOBS = {
    "context.compile": ("found", "remembered"),
    "context.compiled": ("prompt", "manifest", "inputs"),
    "context.edit": ("prompt",),
    "context.edited": ("before", "prompt"),
    "effect.settle": ("told",),
    "effect.unknown": ("trace",),
    "execution.pause": ("prompt",),
    "execution.paused": ("prompt",),
    "knowledge.request": ("found",),
    "knowledge.requested": ("found",),
    "memory.request": ("found",),
    "memory.requested": ("found",),
    "model.invoke": ("prompt",),
    "model.responded": ("prompt",),
    "tool.returned": ("result",),
}


def test_what_stays_readable_of_an_execution_is_structure() -> None:
    """The names that are not personal in some event: each must never hold what people wrote."""
    serving_events = [cls for cls in VOCABULARY if cls.belongs[0] in ("execution", "trigger")]
    clear = {
        name
        for cls in serving_events
        for name in cls.__struct_fields__
        if name not in personal_fields(cls) and "str" in str(cls.__annotations__[name])
        if name not in NAMES_OF_BLOBS.get(cls.topic_name(), ())
    }

    assert clear == {
        *("execution_id", "step_id", "trigger_id", "call_id", "effect_key", "child", "parent"),
        *("parent_step", "from_step", "fork_of", "tree", "digest", "linked", "process", "trigger"),
        *("action", "tool", "gate", "name", "kind", "model", "model_by", "provider", "host"),
        *("memories", "nodes", "directives", "waits_for"),  # ids, a digest, and scopes
        *(
            "component",
            "pack",
            "strategy",
            "effect",
            "worker",
            "by",
            "requested_by",
            "status",
            "outcome",
        ),
        *("stop", "what", "purpose", "asked", "breakpoints", "branches", "dropped", "leaving"),
        *("changed", "missing", "usage", "own_usage", "sections", "verdict"),
    }


@pytest.mark.parametrize("body", [b"", b"\x80", b"\x94\x01", b"\x94\x01\xa1a\xa1b\xa1c"])
def test_a_forged_record_of_a_subject_is_no_more_than_an_undecodable_one(body: bytes) -> None:
    stored = MemoryLog()
    forged = msgspec.structs.replace(_record("s_" + "0" * 32, body), format=ENCRYPTED)
    stored.write(Batch(rows=[Row(1, "s", 1, encode(forged)), Row(2, "t", 1, b"\x90")]))
    page = PersonalLog(stored, SubjectKeys(None)).read(0, 9, 99)

    assert list(page) == [encode(forged), b"\x90"]
    if body != b"\x80":
        with pytest.raises(msgspec.DecodeError):
            as_map(forged)


def test_a_body_of_a_newer_scheme_is_refused_with_what_to_do() -> None:
    keys = SubjectKeys(None)
    newer = msgspec.msgpack.encode([2, b"\x80", b"n" * 12, b"x"])
    record = msgspec.structs.replace(_record(keys.id_of(ANNA), newer), format=ENCRYPTED)

    with pytest.raises(CortexError, match="upgrade Cortex"):
        decrypted(record, keys.get)


def test_fields_that_are_renamed_on_the_wire_are_personal_too() -> None:
    class Renamed(Event, frozen=True, kw_only=True, tag="call.renamed", rename="camel"):
        belongs = ("call", "call_id")
        personal = ("last_words",)

        call_id: str
        last_words: str

    whole = msgspec.msgpack.encode(Renamed(call_id="c", last_words="secret"))

    assert b"secret" not in placeholder(Renamed, "call.renamed", whole)


def test_topics_of_plugins_leave_nothing_but_the_topic() -> None:
    assert msgspec.msgpack.decode(placeholder(None, "x.a.b", b"\x81\xa1a\xa1b")) == {
        "topic": "x.a.b"
    }


def _record(subject: str | None, body: bytes = b"\x80") -> Recorded:
    return Recorded(FORMAT, 1, "s", 1, bytes(16), 1, "a.b", 1, None, None, "t", None, subject, body)


def _deadline() -> Deadline:
    draft = Draft("a.b", 1, "s", None, b"\x80")
    return Deadline("d", 1, msgspec.msgpack.encode(draft), "tests")


def _filled(cls: type[Event]) -> dict[str, Any]:
    """A body of *cls* whose personal texts are all seeds."""
    info = msgspec.inspect.type_info(cls)
    assert isinstance(info, msgspec.inspect.StructType)
    personal = personal_fields(cls)
    filled = {
        field.name: _seed(field.type, "SEED" if field.name in personal else "clear")
        for field in info.fields
    }
    return {"topic": cls.topic_name()} | filled


def _seed(kind: msgspec.inspect.Type, text: str) -> Any:
    match kind:
        case msgspec.inspect.UnionType():
            some = (each for each in kind.types if not isinstance(each, msgspec.inspect.NoneType))
            return _seed(next(some), text)
        case msgspec.inspect.StrType() | msgspec.inspect.AnyType():
            return text
        case msgspec.inspect.DictType():
            return {text: _seed(kind.value_type, text)}
        case msgspec.inspect.VarTupleType() | msgspec.inspect.ListType():
            return [_seed(kind.item_type, text)]
        case msgspec.inspect.LiteralType():
            return kind.values[0]
        case msgspec.inspect.StructType():
            return {field.name: _seed(field.type, text) for field in kind.fields}
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.FloatType():
            return 1.0
        case _:
            return 1
