"""The vocabulary: what it holds, what is on disk, and that the documentation is in step."""

import importlib.util
import typing
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from cortex.bus import Draft, Ephemeral, Event, Query, events
from cortex.bus.events import VOCABULARY

ROOT = Path(__file__).parents[2]
CLASSES = sorted(
    (
        found
        for name in dir(events)
        if isinstance(found := getattr(events, name), type) and issubclass(found, Event)
    ),
    key=lambda cls: cls.topic_name(),
)
REQUESTS = {
    *(
        "context.compile",
        "context.edit",
        "effect.settle",
        "execution.break",
        "execution.cancel",
        "execution.finish",
        "execution.pause",
    ),
    *(
        "execution.edit",
        "execution.request",
        "execution.resume",
        "gate.evaluate",
        "knowledge.index",
        "trigger.wake",
    ),
    *("component.drop", "component.retry"),
    *("knowledge.request", "model.invoke", "gc.collect"),
    *("memory.record", "memory.correct", "memory.link", "memory.pin", "memory.forget"),
    *("memory.restore", "memory.consolidate", "memory.reword", "memory.undo"),
    "memory.request",
    *("package.compile", "package.suggest"),
    *("plugin.load", "plugin.unload"),
    *("directive.submit", "directive.undo", "directive.redo", "directive.branch"),
    *("directive.merge", "directive.pin"),
    *("process.submit", "step.execute", "step.propose", "step.settle", "step.wake", "tool.call"),
}

# Every topic, and the names of its fields as they are on disk. A line here is never changed; a new
# field has a default and is added.
ON_DISK = {
    "client.connected": "client carrier address certificate times",
    "client.denied": "client verb about reason claimed carrier address times",
    "client.left": "client carrier address reason times",
    "client.limited": "client what limit times",
    "component.announced": "component kind name parameters result traits answer",
    "component.drop": "component position note",
    "component.failed": "component reason position about attempts trace",
    "component.restarted": "component runtime reason times",
    "component.retry": "component position",
    "component.started": "component runtime",
    "component.withdrawn": "component kind name",
    "context.compile": (
        "execution_id step_id attempt process description goal instructions parameters "
        "knowledge carry needs budget tools turn answer_schema problem failures model "
        "left spent strategy found found_tokens"
    ),
    "context.compiled": (
        "execution_id step_id attempt turn prompt manifest model provider tokens sections "
        "window headroom considered included actions"
    ),
    "context.edit": "execution_id prompt edits note seen",
    "context.edited": "execution_id step_id attempt turn before prompt edits by note",
    "context.refused": "execution_id step_id attempt turn reason",
    "directive.applied": "scope branch text profile changes changed digest by",
    "directive.branched": "scope name branch by deleted",
    "directive.branch": "scope name branch delete",
    "directive.clarification_asked": "scope branch question waits profile by changes failure",
    "directive.conflicted": "scope branch source source_scope conflicts by",
    "directive.merged": "scope branch source source_scope changes digest by left",
    "directive.merge": "scope branch source source_scope",
    "directive.passed": "scope branch by changes",
    "directive.pinned": "scope branch name pinned by",
    "directive.pin": "scope name branch pinned",
    "directive.redone": "scope branch redone changes digest by",
    "directive.redo": "scope branch",
    "directive.refused": "scope branch asked reason by failure repairs",
    "directive.submit": "scope text state profile branch",
    "directive.undone": "scope branch undone changes digest by",
    "directive.undo": "scope branch",
    "effect.intended": ("execution_id step_id attempt effect_key component kind name turn call_id"),
    "effect.settle": ("execution_id effect_key outcome result told excerpt bytes lines note seen"),
    "effect.settled": ("execution_id step_id attempt effect_key outcome by turn call_id note"),
    "effect.unknown": (
        "execution_id step_id attempt effect_key component kind name turn call_id began_ns "
        "reason parameters trace"
    ),
    "execution.break": "execution_id add remove by note",
    "execution.breakpoints_changed": "execution_id breakpoints added removed by note",
    "execution.cancel": "execution_id reason",
    "execution.cancelled": "execution_id reason tokens cost usage",
    "execution.charged": "execution_id child tokens total late cost total_cost usage",
    "execution.completed": (
        "execution_id outputs tokens duration_s own_tokens cost own_cost usage own_usage"
    ),
    "execution.failed": "execution_id reason step_id tokens cost usage",
    "execution.finish": "execution_id outputs by",
    "execution.halted": "execution_id reason step_id gate evidence tokens cost usage",
    "execution.ignored": "execution_id answer by asked step_id attempt",
    "execution.pause": "execution_id reason question prompt",
    "execution.paused": "execution_id reason step_id question prompt",
    "execution.rated": "execution_id verdict note by",
    "execution.refused": "execution_id asked reason by",
    "execution.deferred": "execution_id process missing waits_s",
    "execution.edit": "execution_id inputs max_cost note from_step seen stepping",
    "execution.edited": "execution_id inputs changed max_cost by note",
    "execution.request": (
        "execution_id process process_version inputs goal workspace trigger parent "
        "parent_step breakpoints max_cost"
    ),
    "execution.resume": "execution_id answer by note from_step gate seen stepping",
    "execution.resumed": "execution_id step_id answer by note from_step stepping",
    "execution.started": (
        "execution_id process process_version digest linked inputs goal workspace trigger "
        "parent parent_step breakpoints max_cost part decider"
    ),
    "gate.evaluate": (
        "execution_id gate index step_id attempt parameters workspace goal trigger answer "
        "by timeout_s"
    ),
    "gate.evaluated": "execution_id gate outcome index step_id attempt reason evidence",
    "grant.given": ("client token_sha256 publish subscribe read work names expires_ns certificate"),
    "grant.revoked": "client reason",
    "knowledge.index": "",
    "knowledge.indexed": "blob files chunks",
    "knowledge.removed": "paths",
    "knowledge.request": "execution_id step_id attempt texts under limit",
    "knowledge.requested": (
        "execution_id step_id attempt turn call_id query topics found notes problem"
    ),
    "learning.action_observed": "execution_id action parameters outcome",
    "log.clock_jumped": "by_ns clock_ns ahead_ns skipped_ns",
    "log.epoch_began": "epoch after reason ended",
    "log.fork_declared": "origin before signed common root",
    "log.segment_sealed": "first last digest record_bytes file_bytes by",
    "log.state_mended": "how by found done rows",
    "log.tail_lost": "common seen epoch client",
    "model.failed": "execution_id step_id attempt turn call model error kind retry_after_s retry",
    "model.invoke": (
        "execution_id step_id attempt turn call model provider prompt answer_schema "
        "max_tokens timeout_s"
    ),
    "model.responded": (
        "execution_id step_id attempt turn call model prompt answer stop cost "
        "input_tokens cached_read_tokens cached_write_tokens output_tokens"
    ),
    "gc.collect": "generation",
    "gc.collected": (
        "number generation collected reasons promoted kept bytes revivals more through slices "
        "longest_us"
    ),
    "memory.collected": "nodes collection through more packages",
    "memory.consolidate": "scope most",
    "memory.consolidated": "consolidation_id scope read wrote through left",
    "memory.correct": "node_id content scope subject origin",
    "memory.corrected": "node_id scope correction by",
    "memory.forget": "node_id scope why subject",
    "memory.forgotten": "node_id scope by why",
    "memory.link": "node_id edge to scope origin",
    "memory.linked": "node_id edge to scope by certainty because",
    "memory.pin": "node_id scope pinned",
    "memory.pinned": "node_id scope by",
    "memory.record": (
        "kind content scope subject origin confidence edges entities happened_ns "
        "source quote embedding update node_id uses used_ns said_by"
    ),
    "memory.recorded": (
        "node_id kind content scope subject origin by confidence edges "
        "entities happened_ns source quote embedding again consolidation_id form times uses "
        "used_ns said_by"
    ),
    "memory.recurred": "found scope through left",
    "memory.refused": "asked reason by",
    "memory.request": "execution_id step_id attempt texts scopes history limit tokens found",
    "memory.requested": (
        "execution_id step_id attempt turn call_id query nodes found through notes problem"
    ),
    "memory.restore": "node_id scope",
    "memory.restored": "node_id scope by content entities source quote subject happened_ns",
    "memory.reword": "node_id draft scope subject",
    "memory.superseded": "node_id scope successor by certainty because",
    "memory.undo": "consolidation_id",
    "memory.undone": "consolidation_id nodes by",
    "memory.unpinned": "node_id scope by",
    "model.selected": (
        "execution_id step_id attempt turn model provider because runners_up rejected needs cost"
    ),
    "model.unclaimed": "execution_id step_id attempt turn call model provider reason",
    "package.compile": "chains scope package_id",
    "package.compiled": (
        "package_id scope subject chains sources replaced beside digest tokens "
        "current_digest current_tokens raw_tokens through by"
    ),
    "package.refused": "asked reason by package_id",
    "package.suggest": "",
    "package.suggested": "package_id scope subject chains steps since_ns through",
    "plugin.crashed": "plugin reason times again_s given_up",
    "plugin.denied": "plugin reason part times",
    "plugin.load": "plugin version digest granted denied place confined",
    "plugin.loaded": "plugin version components granted place confined",
    "plugin.unload": "plugin reason",
    "plugin.unloaded": "plugin reason",
    "process.compiled": (
        "name process_version digest source_digest linked source file abstract warnings"
    ),
    "process.rejected": "file diagnostics source strict",
    "process.retired": "name reason files process_version",
    "process.submit": "sources removed strict",
    "process.unchanged": "files",
    "process.unlinked": "name digest missing",
    "runtime.started": "runtime cortex_version components clock_behind_s",
    "runtime.stopped": "runtime",
    "step.completed": "execution_id step_id attempt result summary",
    "step.delegated": "execution_id step_id attempt child purpose item max_cost",
    "step.execute": (
        "execution_id step_id action attempt parameters workspace goal description answer timeout_s"
    ),
    "step.failed": "execution_id step_id error attempt kind retry excerpt",
    "step.fanned": "execution_id step_id attempt items at_once branches",
    "step.inherited": "execution_id step_id status result fork_of position",
    "step.item_changed": (
        "execution_id step_id attempt item child status result bytes reason question gate max_cost"
    ),
    "step.propose": "execution_id action parameters note seen",
    "step.proposed": (
        "execution_id step_id goal attempt turn call_id action parameters timeout_s by note"
    ),
    "step.reopened": "execution_id step_id dropped by times reason",
    "step.settle": "execution_id step_id outcome result note from_step seen",
    "step.settled": "execution_id step_id outcome by result note",
    "step.skipped": "execution_id step_id reason",
    "step.unclaimed": "execution_id step_id action waited_s",
    "step.wake": "execution_id step_id attempt what index turn",
    "subject.erased": "subject by why asked_ns events blobs unencrypted",
    "tool.call": (
        "execution_id step_id attempt turn call_id tool provider arguments workspace timeout_s "
        "effect"
    ),
    "tool.denied": "execution_id step_id attempt turn call_id tool reason",
    "tool.enabled": "execution_id step_id attempt turn pack by",
    "tool.failed": "execution_id step_id attempt turn call_id tool error kind",
    "tool.listed": "server provider tools reason",
    "tool.returned": (
        "execution_id step_id attempt turn call_id tool result excerpt bytes lines summary"
    ),
    "tool.unclaimed": "execution_id step_id attempt tools reasons wait_s",
    "trigger.matched": "trigger_id execution_id process digest because runners_up",
    "trigger.received": "trigger_id fields inputs goal workspace waits",
    "trust.given": "home digest by given_ns",
    "trust.withdrawn": "home",
    "trigger.unmatched": "trigger_id reason candidates waits_s",
    "trigger.wake": "trigger_id last",
}


def lasting(cls: type[Event]) -> bool:
    return not issubclass(cls, Ephemeral | Query)


def ids(cls: type[Event]) -> str:
    return cls.topic_name()


def test_every_exported_class_is_in_the_vocabulary_and_the_reverse() -> None:
    assert sorted(VOCABULARY, key=lambda cls: cls.topic_name()) == CLASSES


@pytest.mark.parametrize("cls", CLASSES, ids=ids)
def test_a_topic_is_family_and_verb_and_stands_in_the_file_of_its_family(cls: type[Event]) -> None:
    family, verb = cls.topic_name().split(".")

    assert family.isidentifier()
    assert verb.isidentifier()
    if not issubclass(cls, Query | Ephemeral):
        assert cls.__module__.rpartition(".")[2] == family


@pytest.mark.parametrize("cls", CLASSES, ids=ids)
def test_the_class_is_called_as_its_topic(cls: type[Event]) -> None:
    words = cls.topic_name().replace(".", "_").split("_")
    spoken = "".join(word.capitalize() for word in words)

    assert cls.__name__ in (spoken, spoken.replace("Learning", ""))


@pytest.mark.parametrize("cls", CLASSES, ids=ids)
def test_stream_and_key_are_made_from_fields(cls: type[Event]) -> None:
    fields = cls.__struct_fields__

    assert cls.belongs[1] in ("", *fields)
    assert cls.routing in (None, *fields)
    assert cls.schema >= 1


@pytest.mark.parametrize("cls", CLASSES, ids=ids)
def test_every_class_says_what_it_stands_for_in_one_sentence(cls: type[Event]) -> None:
    first = (cls.__doc__ or "").split("\n\n")[0]

    assert first.endswith(".")
    assert "TODO" not in first


@pytest.mark.parametrize("cls", CLASSES, ids=ids)
def test_an_event_comes_back_from_its_bytes_as_it_was(cls: type[Event]) -> None:
    event = filled(cls)
    draft = Draft.of(event)

    assert msgspec.msgpack.decode(draft.body, type=cls) == event
    assert draft.topic == cls.topic_name()
    assert draft.ephemeral == issubclass(cls, Ephemeral)


@pytest.mark.parametrize("cls", CLASSES, ids=ids)
def test_an_event_with_only_what_it_requires_can_be_read(cls: type[Event]) -> None:
    required = [f for f in msgspec.structs.fields(cls) if f.required]
    body = {f.name: value_of(f.type) for f in required}

    event = msgspec.convert({"topic": cls.topic_name(), **body}, cls)

    assert all(getattr(event, f.name) == body[f.name] for f in required)


def test_every_topic_that_is_on_disk_is_pinned_here() -> None:
    assert {cls.topic_name() for cls in CLASSES if lasting(cls)} == ON_DISK.keys()


@pytest.mark.parametrize("topic", ON_DISK)
def test_fields_on_disk_keep_their_names_and_order(topic: str) -> None:
    cls = VOCABULARY.classes()[topic]

    known = ON_DISK[topic].split()
    assert list(cls.__struct_fields__[: len(known)]) == known


def test_requests_facts_and_what_passes_by_are_told_apart() -> None:
    docs = event_docs()
    if docs is None:
        pytest.skip("dev/ is not beside these tests")

    kinds = {cls.topic_name(): docs.kind_of(cls) for cls in CLASSES}

    assert {topic for topic, kind in kinds.items() if kind == "request"} == REQUESTS
    assert {kinds[cls.topic_name()] for cls in CLASSES if lasting(cls)} == {"request", "fact"}
    assert kinds["step.progress"] == "ephemeral"
    assert kinds["execution.get"] == "query"


def test_the_documented_vocabulary_is_in_step() -> None:
    docs = event_docs()
    if docs is None:
        pytest.skip("dev/ is not beside these tests")

    written = (ROOT / "docs" / "events.md").read_text()

    assert written == docs.text(), "run python dev/event_docs.py"


def test_the_documentation_names_every_topic_and_field() -> None:
    docs = event_docs()
    if docs is None:
        pytest.skip("dev/ is not beside these tests")

    text = docs.text()

    for cls in CLASSES:
        assert f"### `{cls.topic_name()}`" in text
        assert all(f"| `{field}` |" in text for field in cls.__struct_fields__)
    assert "what `step.execute`, `gate.evaluate` or `model.invoke` route on" in text


def test_what_is_said_above_a_field_is_documented_as_what_is_said_after_one() -> None:
    docs = event_docs()
    if docs is None:
        pytest.skip("dev/ is not beside these tests")

    assert docs.comments_of(Described) == {
        "one": "after it",
        "two": "Above it, in two lines.",
        "four": "after it, beside: what is no field",
    }


class Described(msgspec.Struct):
    """Fields with and without a comment."""

    one: int  # after it
    # Above it,
    # in two lines.
    two: dict[str, int]
    three: int = 0
    # about no field, as an empty line follows

    four: int = 0  # after it, beside: what is no field


def event_docs() -> ModuleType | None:
    path = ROOT / "dev" / "event_docs.py"
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("event_docs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def filled(cls: type[Event]) -> Event:
    return cls(**{f.name: value_of(f.type) for f in msgspec.structs.fields(cls)})


def value_of(annotation: object) -> object:
    """Some value of a field's type."""
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Literal:
        return arguments[0]
    made: dict[object, typing.Any] = {
        str: "words",
        int: 3,
        float: 0.5,
        bool: True,
        tuple: lambda: (value_of(arguments[0]),),
        dict: lambda: {"a": value_of(arguments[1])},
        typing.Any: {"b": [1, "c", None]},
    }
    found = made.get(typing.get_origin(annotation) or annotation)
    if found is None and isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation(**{f.name: value_of(f.type) for f in msgspec.structs.fields(annotation)})
    if found is None:
        return value_of(arguments[0])
    return found() if callable(found) else found
