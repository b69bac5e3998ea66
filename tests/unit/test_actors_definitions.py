"""The accessor of process definitions: what it says of submitted files, and what it remembers."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.actors.accessors import ProcessDefinitionAccessor
from cortex.bus import Event
from cortex.bus.events import (
    ComponentAnnounced,
    ComponentWithdrawn,
    KnowledgeIndex,
    ProcessAnswer,
    ProcessCompiled,
    ProcessList,
    ProcessRejected,
    ProcessRetired,
    ProcessSubmit,
    ProcessUnchanged,
    ProcessUnlinked,
)
from cortex.runtime.kernel import Delivery, Home
from cortex.runtime.log import MemoryBlobs

STRING = {"type": "object", "properties": {"run": {"type": "string"}}}
SOON = ComponentAnnounced(component="Shell", kind="action", name="run", parameters=STRING)
GATE = ComponentAnnounced(component="Gates", kind="gate", name="ready")
WARNED = "gates: [ready, ready]\n"  # what is given twice is a warning, with a fix
CHILD = "process: child\nversion: 1\nextends: base\nsteps:\n  - inherit: all\n"
CONTRACT = "interface: code\nversion: 1\nrequired_steps:\n  - {id: first, description: Begin}\n"
FULFILS = "implements: code\n"
GONE = ComponentWithdrawn(component="Shell", kind="action", name="run")


def process(name: str, version: int = 1, *, action: str = "run", more: str = "") -> str:
    return (
        f"process: {name}\nversion: {version}\ndescription: About {name}\n{more}"
        f"steps:\n  - id: first\n    action: {action}\n    description: Do it\n"
    )


def parent(name: str, word: str = "it") -> str:
    return f"abstract: true\n{process(name)}".replace("Do it", f"Do {word}")


class Desk:
    """An accessor, and the log that a hub would keep of what it was told and what it said."""

    def __init__(self, home: Home | None = None) -> None:
        self.home = home
        self.blobs = MemoryBlobs()
        self.log: list[tuple[Event, Delivery]] = []
        self.snapshots: list[tuple[int, bytes]] = [(0, b"")]  # one a page, as its commit leaves it
        self.accessor = ProcessDefinitionAccessor(self.blobs, home)
        self.tell(SOON, GATE)

    def tell(self, *page: Event) -> list[Event]:
        """Handle *page* as one: what is said about it stands in the log after all of it."""
        asked = [self._record(event, None) for event in page]
        said = self._said(asked)
        self.snapshots.append((asked[-1][1].position, self.accessor.snapshot()))
        for answer, cause in said:
            event, delivery = self._record(answer, cause)
            self.accessor.settled(event, delivery)
        return [event for event, _ in said]

    def tell_and_kill(self, first: Sequence[Event], *later: Event) -> list[Event]:
        """The same for two pages, with a kill in between; *later* was published before it."""
        asked = [self._record(event, None) for event in (*first, *later)]
        said = self._said(asked[: len(first)])
        results = [self._record(answer, cause) for answer, cause in said]
        self.accessor = ProcessDefinitionAccessor(self.blobs, self.home)
        page = max(n for n, (at, _) in enumerate(self.snapshots) if at < asked[0][1].position)
        position, snapshot = self.snapshots[page]
        if snapshot:
            self.accessor.restore(snapshot)
        cursor = asked[len(first) - 1][1].position
        for event, delivery in self.log[position:cursor]:
            self.accessor.recall(event, delivery)
        self.snapshots.append((cursor, self.accessor.snapshot()))
        for event, delivery in results:
            self.accessor.recall(event, delivery)
        self.snapshots.append((cursor, self.accessor.snapshot()))
        more = self._said(asked[len(first) :])
        self.snapshots.append((asked[-1][1].position, self.accessor.snapshot()))
        for answer, cause in more:
            event, delivery = self._record(answer, cause)
            self.accessor.settled(event, delivery)
        return [event for event, _ in (*said, *more)]

    def _said(self, asked: Iterable[tuple[Event, Delivery]]) -> list[tuple[Event, int]]:
        """What follows from *asked*, each with the position of its cause."""
        said: list[tuple[Event, int]] = []
        for event, delivery in asked:
            if isinstance(event, ProcessSubmit):
                answers = self.accessor.submit(event, delivery)
            elif isinstance(event, KnowledgeIndex):
                answers = self.accessor.looked(event, delivery)
            else:
                assert isinstance(event, ComponentAnnounced | ComponentWithdrawn)
                answers = self.accessor.announced(event, delivery)
            for answer in answers:
                assert isinstance(answer, Event)
                said.append((answer, delivery.position))
        return said

    def submit(self, *removed: str, strict: bool = False, **sources: str) -> list[Event]:
        return self.tell(self.submission(sources, removed, strict=strict))

    def submission(
        self, sources: dict[str, str], removed: Iterable[str] = (), *, strict: bool = False
    ) -> ProcessSubmit:
        digests = {file: self.blobs.put(text.encode()) for file, text in sources.items()}
        return ProcessSubmit(sources=digests, removed=tuple(removed), strict=strict)

    def restarted(self) -> "Desk":
        """Another accessor that recalls the same log."""
        again = Desk.__new__(Desk)
        again.blobs, again.log, again.home = self.blobs, list(self.log), self.home
        again.snapshots = list(self.snapshots)
        again.accessor = ProcessDefinitionAccessor(self.blobs, self.home)
        for event, delivery in self.log:
            again.accessor.recall(event, delivery)
        return again

    def resumed(self, page: int, cursor: int) -> "Desk":
        """Another accessor: the snapshot after *page*, recalled to *cursor*, the rest read live."""
        again = Desk.__new__(Desk)
        again.blobs, again.log, again.home = self.blobs, list(self.log), self.home
        again.snapshots = list(self.snapshots)
        again.accessor = ProcessDefinitionAccessor(self.blobs, self.home)
        position, snapshot = self.snapshots[page]
        if snapshot:
            again.accessor.restore(snapshot)
        for event, delivery in self.log[position:]:
            if delivery.position <= cursor or delivery.causation:
                again.accessor.recall(event, delivery)
        return again

    def answer(self) -> ProcessAnswer:
        (answer,) = self.accessor.listed(ProcessList(), self._delivery(0, None))
        assert isinstance(answer, ProcessAnswer)
        return answer

    def _record(self, event: Event, cause: int | None) -> tuple[Event, Delivery]:
        stored = msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=type(event))
        self.log.append((stored, self._delivery(len(self.log) + 1, cause)))
        return self.log[-1]

    def _delivery(self, position: int, cause: int | None) -> Delivery:
        return Delivery(position, position, "ProcessDefinitionAccessor", causation=cause)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def as_before(event: Event) -> Event:
    """*event* as versions before this recorded it: an interface with its linked digest twice."""
    if isinstance(event, ProcessCompiled) and event.name == "code":
        return msgspec.structs.replace(event, source_digest=event.digest)
    return event


def shape(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Topic and name or file of each, in order."""
    return [
        (e.topic_name().removeprefix("process."), str(getattr(e, "name", getattr(e, "file", ""))))
        for e in events
    ]


# What becomes of each file.


def test_files_are_compiled_together_whatever_their_order(desk: Desk) -> None:
    said = desk.submit(a=CHILD, b=parent("base"))

    assert sorted(shape(said)) == [("compiled", "base"), ("compiled", "child")]


def test_only_the_wrong_file_is_rejected_with_all_that_is_wrong_with_it(desk: Desk) -> None:
    said = desk.submit(good=process("good"), bad=process("bad", action="nope", more="gaets: x\n"))

    assert sorted(shape(said)) == [("compiled", "good"), ("rejected", "bad")]
    (rejected,) = [e for e in said if isinstance(e, ProcessRejected)]
    assert [d["code"] for d in rejected.diagnostics] == ["P101", "P401"]
    assert all(d["remedy"] and d["span"]["line"] for d in rejected.diagnostics)


def test_what_a_rejected_file_held_before_goes_on(desk: Desk) -> None:
    desk.submit(a=process("kept"))

    said = desk.submit(a=process("kept", 2, action="nope"))

    assert shape(said) == [("rejected", "a")]
    assert [(p["name"], p["version"], p["missing"]) for p in desk.answer().processes] == [
        ("kept", 1, [])
    ]


def test_a_file_that_leans_on_a_rejected_one_is_rejected_with_it(desk: Desk) -> None:
    desk.submit(a=process("one"))

    said = desk.submit(
        a=f"{process('one', 2)}\n---\n{process('other', action='nope')}",
        b=process("two", more="inputs: {x: {type: string}}\n").replace(
            "action: run", "process: new"
        ),
        c=f"{process('new')}\n---\n{process('broken', action='nope')}",
    )

    assert sorted(shape(said)) == [("rejected", "a"), ("rejected", "b"), ("rejected", "c")]
    assert desk.answer().sources.keys() == {"a"}


def test_every_submitted_file_is_answered(desk: Desk) -> None:
    text = process("same")
    desk.submit(same=text)

    said = desk.submit(same=text, empty="# nothing yet\n", new=process("new"))

    assert shape(said) == [("unchanged", ""), ("compiled", "new"), ("unchanged", "")]
    assert [e.files for e in said if isinstance(e, ProcessUnchanged)] == [("same",), ("empty",)]


@pytest.mark.parametrize(
    ("digest", "code"), [("0" * 64, "P014"), ("not-utf-8", "P003"), ("large", "P001")]
)
def test_a_file_that_is_no_text_is_rejected_and_the_others_are_not(
    digest: str, code: str, desk: Desk
) -> None:
    if digest == "not-utf-8":
        digest = desk.blobs.put(b"process: caf\xe9\n")
    elif digest == "large":
        digest = desk.blobs.put(b"# " + b"x" * 10_000_000)
    good = desk.submission({"good": process("good")}).sources

    said = desk.tell(ProcessSubmit(sources={"bad": digest, **good}))

    assert sorted(shape(said)) == [("compiled", "good"), ("rejected", "bad")]
    (rejected,) = [e for e in said if isinstance(e, ProcessRejected)]
    assert [d["code"] for d in rejected.diagnostics] == [code]


def test_of_endlessly_many_findings_as_many_are_told_as_an_event_can_hold(desk: Desk) -> None:
    steps = "".join(f"- id: s{n}\n  action: nope\n  wrong: 3\n" for n in range(5_000))

    (rejected,) = desk.submit(a=f"process: p\nversion: 1\nsteps:\n{steps}")

    assert isinstance(rejected, ProcessRejected)
    assert len(msgspec.msgpack.encode(rejected)) < 256 * 1024
    assert len(rejected.diagnostics) > 100
    assert "more findings" in rejected.diagnostics[-1]["message"]


def test_a_source_that_changed_needs_a_new_version(desk: Desk) -> None:
    desk.submit(a=process("p"))

    (rejected,) = desk.submit(a=process("p").replace("Do it", "Do it now"))
    (compiled,) = desk.submit(a=process("p", 2).replace("Do it", "Do it now"))

    assert isinstance(rejected, ProcessRejected)
    assert [d["remedy"] for d in rejected.diagnostics] == ["write `version: 2`"]
    assert rejected.diagnostics[0]["fix"]
    assert isinstance(compiled, ProcessCompiled)


def test_a_parent_that_changed_gives_its_children_a_new_digest_and_no_error(desk: Desk) -> None:
    first = desk.submit(a=CHILD, b=parent("base"))

    said = desk.submit(
        b=parent("base").replace("version: 1", "version: 2").replace("Do it", "Do it well")
    )

    assert sorted(shape(said)) == [("compiled", "base"), ("compiled", "child")]
    before, after = (
        next(e for e in each if isinstance(e, ProcessCompiled) and e.name == "child")
        for each in (first, said)
    )
    assert before.source_digest == after.source_digest
    assert before.process_version == after.process_version


@pytest.mark.parametrize("restarted", [False, True])
def test_a_rejected_file_is_compiled_when_what_it_lacks_comes(
    desk: Desk, *, restarted: bool
) -> None:
    rejected = desk.submit(a=process("p", action="also"), b=CHILD)
    if restarted:
        desk = desk.restarted()

    parent_came = desk.submit(c=parent("base"))
    action_came = desk.tell(ALSO)

    assert sorted(shape(rejected)) == [("rejected", "a"), ("rejected", "b")]
    assert sorted(shape(parent_came)) == [("compiled", "base"), ("compiled", "child")]
    assert shape(action_came) == [("compiled", "p")]
    assert desk.answer().rejected == {}


def test_what_was_rejected_for_its_warnings_or_removed_is_not_compiled_by_itself(
    desk: Desk,
) -> None:
    desk.submit(a=process("p", more=WARNED), strict=True)
    desk.submit(b=process("q", action="also"))
    desk.submit("b")

    assert shape(desk.tell(ALSO)) == []
    assert set(desk.answer().rejected) == {"a"}


def test_an_older_form_that_is_linked_anew_does_not_hide_that_its_file_was_rejected(
    desk: Desk,
) -> None:
    desk.submit(a=process("p"))
    desk.submit(a=process("p", 2, action="nope"))

    said = desk.tell(GONE), desk.tell(SOON)

    assert [shape(each) for each in said] == [[("unlinked", "p")], [("compiled", "p")]]
    assert set(desk.answer().rejected) == {"a"}


def test_an_interface_goes_on_to_compile_after_the_next_submission(desk: Desk) -> None:
    first = desk.submit(a=CONTRACT, b=process("p", more=FULFILS))

    second = desk.submit(c=process("other"))
    third = desk.submit(c=process("other", 2))
    back = desk.tell(GONE), desk.tell(SOON)

    assert sorted(shape(first)) == [("compiled", "code"), ("compiled", "p")]
    assert (shape(second), shape(third)) == ([("compiled", "other")], [("compiled", "other")])
    assert sorted(shape(back[0])) == [("unlinked", "other"), ("unlinked", "p")]
    assert sorted(shape(back[1])) == [("compiled", "other"), ("compiled", "p")]


def test_an_interface_with_another_source_under_its_version_is_rejected(desk: Desk) -> None:
    desk.submit(a=CONTRACT, b=process("p", more=FULFILS))

    changed = CONTRACT.replace("Begin", "Start")
    (rejected,) = desk.submit(a=changed)
    again = desk.submit(a=changed.replace("version: 1", "version: 2"))

    assert isinstance(rejected, ProcessRejected)
    assert [each["code"] for each in rejected.diagnostics] == ["P501"]
    assert ("compiled", "code") in shape(again)


@pytest.mark.parametrize("snapshot", [False, True])
def test_an_interface_from_a_log_that_kept_its_linked_digest_compiles_again(
    desk: Desk, *, snapshot: bool
) -> None:
    desk.submit(a=CONTRACT, b=process("p", more=FULFILS))
    desk.log = [(as_before(event), delivery) for event, delivery in desk.log]
    again = desk.restarted()
    if snapshot:
        kept = again.accessor.snapshot()
        again.accessor = ProcessDefinitionAccessor(again.blobs, None)
        again.accessor.restore(kept)

    said = again.submit(c=process("other"))
    more = again.submit(d=process("another"))

    assert sorted(shape(said)) == [("compiled", "code"), ("compiled", "other")]
    assert shape(more) == [("compiled", "another")]


def test_a_file_that_is_put_back_to_what_it_once_held_is_answered(desk: Desk) -> None:
    first, second = process("p"), process("p", 2)
    desk.submit(a=first)
    desk.submit(a=second)

    said = desk.submit(a=first)

    assert shape(said) == [("compiled", "p")]


def test_a_removed_file_retires_what_only_it_held(desk: Desk) -> None:
    desk.submit(a=process("moved"), b=process("gone"))

    said = desk.submit("a", "b", c=process("moved"))

    assert sorted(shape(said)) == [("compiled", "moved"), ("retired", "gone")]
    (retired,) = [e for e in said if isinstance(e, ProcessRetired)]
    assert (retired.files, retired.reason) == (("b",), "it is no longer in b")


def test_what_was_retired_comes_back_with_its_file(desk: Desk) -> None:
    text = process("p")
    desk.submit(a=text)
    desk.submit("a")

    assert shape(desk.submit(a=text)) == [("compiled", "p")]
    assert [p["retired"] for p in desk.answer().processes] == [""]


def test_strict_rejects_what_has_warnings_and_leaves_other_files_alone(desk: Desk) -> None:
    warned = process("warned", more=WARNED)
    assert shape(desk.submit(old=warned)) == [("compiled", "warned")]
    (before,) = [p for p in desk.answer().processes if p["name"] == "warned"]

    said = desk.submit(strict=True, new=process("clean"), bad=warned.replace("warned", "also"))

    assert sorted(shape(said)) == [("compiled", "clean"), ("rejected", "bad")]
    (after,) = [p for p in desk.answer().processes if p["name"] == "warned"]
    assert before == after


# What is announced and withdrawn.


def test_an_action_that_is_withdrawn_unlinks_and_links_again_when_it_is_back(desk: Desk) -> None:
    (compiled,) = desk.submit(a=process("p"))

    (unlinked,) = desk.tell(GONE)
    (again,) = desk.tell(SOON)

    assert isinstance(compiled, ProcessCompiled)
    assert unlinked == ProcessUnlinked(name="p", digest=compiled.digest, missing=("action run",))
    assert again == compiled


@pytest.mark.parametrize("version", [1, 3])
def test_a_users_process_takes_the_place_of_a_shipped_one_and_gives_it_back(
    desk: Desk, version: int
) -> None:
    shipped = desk.submission({"library/fix.yaml": process("fix")})
    desk.tell(shipped)

    said = desk.submit(mine=process("fix", version).replace("Do it", "Do mine"))
    beside = {(p["name"], p["version"], p["file"]) for p in desk.answer().processes}
    desk.submit("mine")
    after = [p for p in desk.answer().processes if not p["retired"]]

    assert not [e for e in said if isinstance(e, ProcessRejected)]
    assert beside == {
        ("fix", version, "mine"),
        ("library/fix", 1, "library/fix.yaml"),
    }
    assert [(p["name"], p["version"], p["file"]) for p in after] == [("fix", 1, "library/fix.yaml")]
    assert desk.restarted().answer().processes == desk.answer().processes


TOPICAL = "knowledge: [team.rota]\n"


def rota(home: Home, text: str) -> Path:
    page = home.knowledge / "team" / "rota.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(text)
    return page


@pytest.mark.parametrize("again", [KnowledgeIndex(), ProcessSubmit(sources={})])
def test_a_topic_that_is_deleted_unlinks_at_once_and_links_again_when_it_is_back(
    tmp_path: Path, again: Event
) -> None:
    home = Home.create(tmp_path / ".cortex")
    page = rota(home, "Ada, then Grace\n")
    desk = Desk(home)
    desk.submit(a=process("p", more=TOPICAL), b=process("other"))

    page.unlink()
    gone = desk.tell(again)
    page.write_text("Ada, then Grace\n")
    back = desk.tell(again)

    (unlinked,) = [e for e in gone if isinstance(e, ProcessUnlinked)]
    assert (unlinked.name, unlinked.missing) == ("p", ("topic team.rota",))
    assert shape(e for e in back if isinstance(e, ProcessCompiled)) == [("compiled", "p")]
    assert desk.restarted().answer().processes == desk.answer().processes


@pytest.mark.parametrize("again", [KnowledgeIndex(), ProcessSubmit(sources={})])
def test_a_topic_that_is_edited_gives_the_process_another_digest_of_the_same_version(
    tmp_path: Path, again: Event
) -> None:
    home = Home.create(tmp_path / ".cortex")
    rota(home, "Ada, then Grace\n")
    desk = Desk(home)
    (first,) = desk.submit(a=process("p", more=TOPICAL))
    assert isinstance(first, ProcessCompiled)

    rota(home, "Grace, then Ada\n")
    (second,) = [e for e in desk.tell(again) if isinstance(e, ProcessCompiled)]
    nothing = [e for e in desk.tell(again) if isinstance(e, ProcessCompiled)]

    assert (second.process_version, second.source_digest) == (1, first.source_digest)
    assert second.digest != first.digest
    assert nothing == []


def test_other_components_do_not_touch_what_does_not_use_them(desk: Desk) -> None:
    desk.submit(a=process("p"))

    said = desk.tell(
        ComponentAnnounced(component="Other", kind="action", name="other"),
        ComponentWithdrawn(component="Other", kind="action", name="other"),
        ComponentAnnounced(component="M", kind="model", name="ready"),
        ComponentWithdrawn(component="M", kind="model", name="ready"),
        ComponentWithdrawn(component="Old", kind="action", name="run"),
    )

    assert said == []


def test_a_model_that_leaves_takes_no_gate_of_its_name_with_it(desk: Desk) -> None:
    desk.submit(a=process("p", more="gates: [ready]\n"))

    said = desk.tell(ComponentWithdrawn(component="M", kind="model", name="ready"))

    assert said == []


def test_a_missing_gate_is_named_and_warnings_are_not(desk: Desk) -> None:
    desk.submit(a=process("p", more=WARNED))

    (unlinked,) = desk.tell(ComponentWithdrawn(component="Gates", kind="gate", name="ready"))

    assert isinstance(unlinked, ProcessUnlinked)
    assert unlinked.missing == ("gate ready",)


# What a restart remembers.


def test_a_restart_says_nothing_of_what_has_not_changed(desk: Desk) -> None:
    # A warning with a fix: its edits are tuples before they are stored, and lists after.
    text = process("p", more=WARNED)
    desk.submit(a=text)

    again = desk.restarted()

    assert shape(again.tell(SOON)) == []
    assert shape(again.submit(b=process("q"))) == [("compiled", "q")]
    assert shape(again.submit(a=text)) == [("unchanged", "")]


def test_an_event_that_is_handed_out_again_is_linked_again(desk: Desk) -> None:
    desk.submit(a=process("p"))
    delivery = Delivery(99, 99, "ProcessDefinitionAccessor", attempt=2)
    list(desk.accessor.announced(GONE, delivery))

    again = list(desk.accessor.announced(SOON, delivery))
    and_again = list(desk.accessor.announced(SOON, delivery))

    assert shape(e for e in again if isinstance(e, Event)) == [("compiled", "p")]
    assert and_again == []


FILES = st.sampled_from(["a", "b", "c"])
NAMES = st.sampled_from(["p", "q"])
TEXTS = st.one_of(
    st.just("# empty\n"),
    st.builds(process, NAMES, st.integers(1, 2)),
    st.builds(process, NAMES, action=st.sampled_from(["run", "nope", "also"])),
    st.builds(lambda p, q: f"{process(p)}\n---\n{process(q)}", NAMES, NAMES),
    st.builds(parent, NAMES, st.sampled_from(["x", "y"])),
)
ALSO = ComponentAnnounced(component="Also", kind="action", name="also")
EVENTS: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.dictionaries(FILES, TEXTS, max_size=3), st.sets(FILES, max_size=2), st.booleans()),
    st.sampled_from([SOON, GONE, ALSO, GATE]),
)


@given(
    pages=st.lists(st.lists(EVENTS, min_size=1, max_size=3), max_size=5),
    at=st.integers(0, 9),
    unread=st.integers(0, 9),
)
@settings(max_examples=120, deadline=None)
def test_a_snapshot_of_any_page_leads_to_the_state_that_was_live(
    pages: list[list[Any]], at: int, unread: int
) -> None:
    desk = Desk()
    for page in pages:
        desk.tell(
            *(
                event if isinstance(event, Event) else desk.submission(*event[:2], strict=event[2])
                for event in page
            )
        )
    last, _ = desk.snapshots[-1]
    cursor = max(last, len(desk.log) - unread)  # some of its own answers may be unread

    resumed = desk.resumed(at % len(desk.snapshots), cursor)

    assert msgspec.to_builtins(resumed.answer()) == msgspec.to_builtins(desk.answer())


@given(pages=st.lists(st.lists(EVENTS, min_size=1, max_size=3), max_size=5))
@settings(max_examples=120, deadline=None)
def test_folding_the_log_gives_the_state_that_was_live(pages: list[list[Any]]) -> None:
    desk = Desk()
    for page in pages:
        desk.tell(
            *(
                event if isinstance(event, Event) else desk.submission(*event[:2], strict=event[2])
                for event in page
            )
        )
    live, recalled = desk.answer(), desk.restarted().answer()

    assert msgspec.to_builtins(recalled) == msgspec.to_builtins(live)
    # And the next thing that happens is answered alike.
    again = desk.restarted()
    assert shape(again.tell(SOON, ALSO)) == shape(desk.tell(SOON, ALSO))


def test_what_was_compiled_before_a_kill_counts_for_a_submission_that_waited(desk: Desk) -> None:
    """That it was compiled stands in the log behind the submission that needs it."""
    base = desk.submission({"a": parent("base")})

    said = desk.tell_and_kill([base], desk.submission({"b": CHILD}))

    assert shape(said) == [("compiled", "base"), ("compiled", "child")]


@given(
    before=st.lists(EVENTS, max_size=2),
    first=st.lists(EVENTS, min_size=1, max_size=3),
    later=st.lists(EVENTS, min_size=1, max_size=3),
    more=st.lists(EVENTS, min_size=1, max_size=2),
)
@settings(max_examples=200, deadline=None)
def test_a_kill_between_two_pages_changes_no_answer(
    before: list[Any], first: list[Any], later: list[Any], more: list[Any]
) -> None:
    def made(desk: Desk, page: list[Any]) -> list[Event]:
        return [
            event if isinstance(event, Event) else desk.submission(*event[:2], strict=event[2])
            for event in page
        ]

    live, killed = Desk(), Desk()
    for desk in (live, killed):
        for each in before:
            desk.tell(*made(desk, [each]))
    said = live.tell(*made(live, first), *made(live, later))

    again = killed.tell_and_kill(made(killed, first), *made(killed, later))

    assert msgspec.to_builtins(again) == msgspec.to_builtins(said)
    assert state(killed) == state(live)
    said = live.tell(*made(live, more))
    assert msgspec.to_builtins(killed.tell(*made(killed, more))) == msgspec.to_builtins(said)
    assert state(killed) == state(live)
    pages = range(len(killed.snapshots))
    for page in pages:  # each of them is enough for the next start
        assert state(killed.resumed(page, len(killed.log))) == state(live)


def state(desk: Desk) -> dict[str, Any]:
    """What the accessor has; without the position, for a start handles no result again."""
    return {**msgspec.to_builtins(desk.answer()), "position": 0}
