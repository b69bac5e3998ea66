"""The ledger of a scope: what was cleared stays cleared, and what was done can be undone."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import msgpack
from msgspec.structs import replace

from cortex.actors.engines import DirectiveEngine
from cortex.bus import BODY_BYTES, CortexError, Event, Recorded
from cortex.bus.events import (
    DirectiveApplied,
    DirectiveBranch,
    DirectiveBranched,
    DirectiveClarificationAsked,
    DirectiveConflicted,
    DirectiveMerge,
    DirectiveMerged,
    DirectivePin,
    DirectivePinned,
    DirectiveRedo,
    DirectiveRedone,
    DirectiveRefused,
    DirectiveSubmit,
    DirectiveUndo,
    DirectiveUndone,
)
from cortex.runtime.directives import (
    EMPTY_LEDGER,
    MAIN,
    PROFILES,
    Asking,
    ChangesLostError,
    Ledgers,
    Request,
    ScopeLedger,
    decide,
    evolve,
    export_state,
    in_force,
    loaded,
    preview_document,
    stored,
)
from cortex.runtime.log import MemoryBlobs

from .execution_world import World


class Scene:
    """One scope that requests change; it keeps the facts, as the log does."""

    def __init__(self) -> None:
        self.ledger, self.position = EMPTY_LEDGER, 0
        self.facts: list[tuple[Event, int]] = []

    def ask(self, request: Request, source: ScopeLedger | None = None) -> Event:
        self.position += 10
        asking = Asking(by="owner", position=self.position, source=source)
        self.ledger, fact = decide(self.ledger, request, asking)
        self.facts.append((fact, self.position))
        return fact

    def say(self, text: str, branch: str = MAIN, profile: str = "dialogue") -> Event:
        return self.ask(DirectiveSubmit(text=text, branch=branch, profile=profile))

    def policies(self, branch: str = MAIN) -> dict[str, str]:
        return dict(self.ledger.branches[branch].content.state.policies.items())

    def since(self, part: str) -> int:
        return self.ledger.branches[MAIN].content.position(part)


def scene(*texts: str) -> Scene:
    made = Scene()
    for text in texts:
        made.say(text)
    return made


def test_each_part_names_the_request_behind_it() -> None:
    made = scene("use ash", "set premise short answers", "use b", "use ash")

    assert made.since("policy/ash") == 10
    assert made.since("fact/premise") == 20
    assert made.since("policy/b") == 30


def test_an_item_named_premise_is_not_the_premise() -> None:
    made = scene("use premise", "set premise short", "clear premise")

    assert made.policies() == {"premise": "use"}
    assert made.since("policy/premise") == 10
    assert made.ledger.branches[MAIN].content.cleared_at("fact/premise") == 30


def test_undo_and_redo_lead_back_and_forth() -> None:
    made = scene("use ash", "prohibit b")
    after_two = made.ledger.branches[MAIN].content

    undone = made.ask(DirectiveUndo())
    assert isinstance(undone, DirectiveUndone)
    assert undone.undone == 20
    assert made.policies() == {"ash": "use"}

    redone = made.ask(DirectiveRedo())
    assert isinstance(redone, DirectiveRedone)
    assert made.ledger.branches[MAIN].content == after_two
    assert isinstance(made.ask(DirectiveRedo()), DirectiveRefused)


def test_an_undo_of_an_answer_is_one_of_the_question_as_well() -> None:
    made = scene("use ash", "use b instead of c", "yes")
    assert made.policies() == {"ash": "use", "b": "use"}

    made.ask(DirectiveUndo())

    assert made.policies() == {"ash": "use"}
    assert made.ledger.branches[MAIN].content.state.pending is None


@pytest.mark.parametrize("profile", ["seed", "strict"])
def test_a_question_is_answered_as_the_profile_that_asked_it_meant_it(profile: str) -> None:
    made = scene("use podman instead of lxc")
    before = preview_document(PROFILES[profile], made.ledger.branches[MAIN], "yes")

    assert isinstance(made.say("prohibit b", profile=profile), DirectiveClarificationAsked)
    applied = made.say("yes", profile=profile)

    assert before.changed == [["podman", "", "use"]]
    assert isinstance(applied, DirectiveApplied)
    assert applied.profile == "dialogue"
    assert made.policies() == {"podman": "use"}
    made.say("no use vim", profile="seed")
    assert made.ask(DirectiveSubmit(text="yes", profile="strict"))
    assert made.policies() == {"podman": "use", "vim": "prohibit"}


def test_an_open_question_is_withdrawn_by_an_undo_and_keeps_what_is_laid_down() -> None:
    made = scene("use ash")
    asked = made.say("use b instead of c")
    assert isinstance(asked, DirectiveClarificationAsked)
    assert asked.waits

    undone = made.ask(DirectiveUndo())

    assert isinstance(undone, DirectiveUndone)
    assert undone.undone == 0
    assert made.policies() == {"ash": "use"}


def test_a_new_directive_ends_what_could_be_redone() -> None:
    made = scene("use ash", "use b")
    made.ask(DirectiveUndo())
    made.say("use c")

    assert isinstance(made.ask(DirectiveRedo()), DirectiveRefused)
    assert made.policies() == {"ash": "use", "c": "use"}


@pytest.mark.parametrize("text", ["clear state", "reset policies", "prohibit b"])
def test_a_directive_that_changes_nothing_ends_it_as_well(text: str) -> None:
    made = scene("prohibit b", "use ash")
    made.ask(DirectiveUndo())
    if text != "prohibit b":
        made.ask(DirectiveUndo())
    made.say(text)

    assert isinstance(made.ask(DirectiveRedo()), DirectiveRefused)
    assert "ash" not in made.policies()
    made.say("use c")
    made.ask(DirectiveUndo())
    assert isinstance(made.ask(DirectiveRedo()), DirectiveRedone)
    assert isinstance(made.ask(DirectiveRedo()), DirectiveRefused)


def test_what_an_undo_or_a_redo_took_away_comes_back_by_no_merge_and_no_recall() -> None:
    earlier, made = scene("use ash"), Scene()
    made.position = 100
    made.ask(DirectiveBranch(name="try"))
    made.say("use ash", "try")
    made.say("use ash")
    made.ask(DirectiveUndo())
    recall = DirectiveMerge(scope="execution:2", source_scope="execution:1")

    assert isinstance(made.ask(DirectiveMerge(source="try")), DirectiveConflicted)
    recalled = made.ask(recall, earlier.ledger)
    assert isinstance(recalled, DirectiveMerged)
    assert [each.name for each in recalled.left] == ["policy/ash"]

    made.ask(DirectiveRedo())
    made.say("remove policy ash")
    made.ask(DirectiveUndo())
    earlier.position = made.position
    earlier.say("prohibit ash")
    earlier.say("use ash")
    made.position = earlier.position
    made.ask(DirectiveRedo())
    assert isinstance(made.ask(recall, earlier.ledger), DirectiveMerged)
    assert made.policies() == {}


def test_what_was_cleared_in_a_merged_branch_does_not_come_back_by_a_branch_of_it() -> None:
    made = Scene()
    made.ask(DirectiveBranch(name="one"))
    made.say("use ash", "one")
    made.ask(DirectiveBranch(name="two", branch="one"))
    made.say("remove policy ash", "one")
    made.ask(DirectiveMerge(source="one"))

    assert isinstance(made.ask(DirectiveMerge(source="two")), DirectiveConflicted)
    assert made.policies() == {}


def test_a_branch_with_the_name_of_a_deleted_one_has_none_of_its_merges() -> None:
    made = Scene()
    for name in ("try", "other"):
        made.ask(DirectiveBranch(name=name))
    made.say("use ash", "try")
    made.ask(DirectiveMerge(source="try"))
    made.ask(DirectiveBranch(name="try", delete=True))
    made.ask(DirectiveBranch(name="try", branch="other"))
    made.say("use b", "try")

    made.ask(DirectiveMerge(source="try"))

    assert made.policies() == {"ash": "use", "b": "use"}


def test_facts_fold_without_those_that_were_erased() -> None:
    made = scene("prohibit ash", "prohibit b")
    made.ask(DirectiveUndo())
    made.ask(DirectiveRedo())
    made.ask(DirectiveUndo())
    made.ask(DirectiveBranch(name="try"))
    made.say("use c", "try")
    made.ask(DirectiveBranch(name="more", branch="try"))
    made.ask(DirectiveMerge(source="try"))

    for erased in range(len(made.facts)):
        ledger = EMPTY_LEDGER
        for number, (fact, position) in enumerate(made.facts):
            if number != erased:
                ledger = evolve(ledger, fact, position)
        found = ledger.branches[MAIN].content.state.policies
        assert (found.get("ash") is None) == (erased == 0)  # no undo of another one undid it
    assert made.policies() == {"ash": "prohibit", "c": "use"}


def test_a_branch_changes_nothing_in_main_until_it_is_merged() -> None:
    made = scene("use ash")
    assert isinstance(made.ask(DirectiveBranch(name="try")), DirectiveBranched)
    made.say("prohibit b", "try")
    assert made.policies() == {"ash": "use"}

    merged = made.ask(DirectiveMerge(source="try"))

    assert isinstance(merged, DirectiveMerged)
    assert made.policies() == {"ash": "use", "b": "prohibit"}


def test_what_was_cleared_does_not_come_back_with_a_branch_that_still_has_it() -> None:
    made = scene("use ash", "use b")
    made.ask(DirectiveBranch(name="try"))
    made.say("use c", "try")
    made.say("remove policy ash")

    made.ask(DirectiveMerge(source="try"))

    assert made.policies() == {"b": "use", "c": "use"}


def test_what_was_cleared_here_and_laid_down_there_is_a_conflict_that_is_named() -> None:
    made = Scene()
    made.ask(DirectiveBranch(name="try"))
    made.say("use ash")
    made.say("remove policy ash")
    made.say("use ash", "try")

    conflicted = made.ask(DirectiveMerge(source="try"))

    assert isinstance(conflicted, DirectiveConflicted)
    (conflict,) = conflicted.conflicts
    assert (conflict.name, conflict.here, conflict.there) == ("policy/ash", "", "use")
    assert conflict.cleared == 30
    assert made.policies() == {}


def test_contradictions_are_named_and_nothing_is_merged() -> None:
    made = scene("use ash")
    made.ask(DirectiveBranch(name="try"))
    for text in ("remove policy ash", "prohibit ash", "use z"):
        made.say(text, "try")
    made.say("remove policy ash")

    conflicted = made.ask(DirectiveMerge(source="try"))

    assert isinstance(conflicted, DirectiveConflicted)
    assert [each.name for each in conflicted.conflicts] == ["policy/ash"]
    assert made.policies() == {}


def test_a_second_merge_takes_only_what_is_new() -> None:
    made = Scene()
    made.ask(DirectiveBranch(name="try"))
    made.say("use ash", "try")
    made.ask(DirectiveMerge(source="try"))
    made.say("remove policy ash")
    made.say("use b", "try")

    made.ask(DirectiveMerge(source="try"))

    assert made.policies() == {"b": "use"}


def test_branches_of_one_branch_are_merged_from_where_they_went_apart() -> None:
    made = scene("use ash")
    for name in ("one", "two"):
        made.ask(DirectiveBranch(name=name))
    made.say("remove policy ash", "one")
    made.say("use b", "two")

    made.ask(DirectiveMerge(branch="one", source="two"))

    assert made.policies("one") == {"b": "use"}


def test_a_recall_adds_what_another_run_had_and_leaves_out_what_was_cleared_since() -> None:
    earlier = scene("use ash", "prohibit b", "use c")
    made = Scene()
    made.position = 100
    for text in ("use ash", "remove policy ash", "prohibit c"):
        made.say(text)

    recalled = made.ask(
        DirectiveMerge(scope="execution:2", source_scope="execution:1"), earlier.ledger
    )

    assert isinstance(recalled, DirectiveMerged)
    assert [each.name for each in recalled.left] == ["policy/ash", "policy/c"]
    assert made.policies() == {"b": "prohibit", "c": "prohibit"}


def test_what_is_pinned_is_not_changed_by_anything() -> None:
    made = scene("use ash", "use b")
    assert isinstance(made.ask(DirectivePin(name="Ash")), DirectivePinned)

    for text in ("remove policy ash", "reset policies", "clear state"):
        refused = made.say(text)
        assert isinstance(refused, DirectiveRefused)
        assert refused.failure == "pinned"
    assert isinstance(made.say("remove policy b"), DirectiveApplied)

    made.ask(DirectivePin(name="ash", pinned=False))
    assert isinstance(made.say("clear state"), DirectiveApplied)


def test_an_import_replaces_all_or_nothing() -> None:
    made = scene("use ash")

    refused = made.ask(DirectiveSubmit(state='{"policies":{"b":"use"}}'))
    assert isinstance(refused, DirectiveRefused)
    assert made.policies() == {"ash": "use"}

    text = '{"policies":{"b":"use"},"premise":null,"version":2}'
    made.ask(DirectiveSubmit(state=text))
    state = made.ledger.branches[MAIN].content.state
    assert export_state(PROFILES["dialogue"], state) == text


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (DirectiveSubmit(text="use ash", branch="none"), "no branch 'none'"),
        (DirectiveSubmit(text="use ash", profile="none"), "no profile 'none'"),
        (DirectiveSubmit(text="use ash", state="{}"), "both a text and a state"),
        (DirectiveUndo(), "nothing to undo"),
        (DirectiveBranch(name="A b"), "no name of a branch"),
        (DirectiveBranch(name=MAIN), "already"),
        (DirectiveBranch(name=MAIN, delete=True), "in force"),
        (DirectiveMerge(source=MAIN), "into itself"),
        (DirectivePin(name="x"), "nothing is laid down"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(request_: Any, says: str) -> None:
    made = Scene()

    refused = made.ask(request_)

    assert isinstance(refused, DirectiveRefused)
    assert says in refused.reason
    assert "\n" not in refused.reason
    assert made.ledger == EMPTY_LEDGER


def test_an_error_of_the_strict_profile_offers_its_repairs() -> None:
    made = Scene()
    made.say("prohibit ash", profile="strict")

    refused = made.say("use ash", profile="strict")

    assert isinstance(refused, DirectiveRefused)
    assert refused.failure == "item_prohibited"
    assert refused.repairs == ("remove policy ash", "use ash")


def test_the_narrower_scope_wins_and_the_wider_one_is_shown_as_overruled() -> None:
    user, project = scene("use ash", "prohibit b"), scene("prohibit ash")

    found = in_force([("project:site", project.ledger), ("user", user.ledger)])

    assert found.rule("ash") == "prohibit"
    assert found.rule("b") == "prohibit"
    assert [(each.name, each.scope) for each in found.overruled] == [("ash", "user")]


NAMES = st.sampled_from(["ash", "b", "c"])
TEXTS = st.one_of(
    st.tuples(st.sampled_from(["use ", "prohibit ", "remove policy "]), NAMES).map("".join),
    st.tuples(NAMES, NAMES).map(lambda two: f"use {two[0]} instead of {two[1]}"),
    st.sampled_from(["yes", "no", "set premise x", "clear premise", "reset policies", "hello"]),
)
BRANCHES = st.sampled_from([MAIN, "one", "two"])
REQUESTS: st.SearchStrategy[Request] = st.one_of(
    st.builds(DirectiveSubmit, text=TEXTS, branch=BRANCHES),
    st.builds(DirectiveUndo, branch=BRANCHES),
    st.builds(DirectiveRedo, branch=BRANCHES),
    st.builds(DirectiveBranch, name=BRANCHES, branch=BRANCHES, delete=st.booleans()),
    st.builds(DirectiveMerge, branch=BRANCHES, source=BRANCHES),
    st.builds(DirectivePin, name=NAMES, branch=BRANCHES, pinned=st.booleans()),
)


@given(st.lists(REQUESTS, max_size=25))
def test_the_facts_alone_give_the_same_ledger(requests: list[Request]) -> None:
    made = Scene()
    for request in requests:
        made.ask(request)

    folded = EMPTY_LEDGER
    for fact, position in made.facts:
        folded = evolve(folded, fact, position)

    assert folded == made.ledger


@given(st.lists(TEXTS, max_size=15))
def test_as_many_undos_as_there_are_steps_lead_to_nothing_and_redos_back(texts: list[str]) -> None:
    made = scene(*texts)
    made.say("no")
    end = made.ledger.branches[MAIN].content
    undone = 0
    while isinstance(made.ask(DirectiveUndo()), DirectiveUndone):
        undone += 1
    assert not made.policies()

    for _ in range(undone):
        made.ask(DirectiveRedo())

    found = made.ledger.branches[MAIN].content
    assert (found.state, found.since) == (end.state, end.since)
    assert dict(found.cleared.items()).keys() == dict(end.cleared.items()).keys()


@settings(max_examples=300)
@given(st.lists(REQUESTS, max_size=25))
def test_what_main_cleared_comes_back_only_by_a_sentence_or_an_undo_in_main(
    requests: list[Request],
) -> None:
    made = Scene()
    for request in requests:
        before = made.ledger.branches[MAIN].content
        fact = made.ask(request)
        after = made.ledger.branches[MAIN].content
        if not isinstance(fact, DirectiveMerged):
            continue
        for name in ("ash", "b", "c"):
            came = after.value(f"policy/{name}") and not before.value(f"policy/{name}")
            if came and fact.branch == MAIN:
                met = made.ledger.branches[fact.source].forked_at
                assert before.cleared_at(f"policy/{name}") <= max(met, _last_merge(made, fact))


def _last_merge(made: Scene, fact: DirectiveMerged) -> int:
    """Position of the merge of the same two branches before *fact*."""
    names = {fact.branch, fact.source}
    return max(
        (
            position
            for other, position in made.facts[:-1]
            if isinstance(other, DirectiveMerged) and {other.branch, other.source} == names
        ),
        default=0,
    )


def many(of: str, rule: str = "use") -> str:
    """A state of more policies than an event holds."""
    policies = ",".join(f'"{of} {n}":"{rule}"' for n in range(9_000))
    return f'{{"policies":{{{policies}}},"premise":null,"version":2}}'


def kept(fact: Event, blobs: MemoryBlobs) -> Event:
    """*fact* as it is read again from a log."""
    body = msgpack.encode(stored(fact, blobs.put))
    assert len(body) <= BODY_BYTES
    return loaded(msgpack.decode(body, type=type(fact)), blobs.get)


def test_what_one_event_cannot_hold_is_in_a_blob_and_folds_to_the_same() -> None:
    scene, blobs = Scene(), MemoryBlobs()
    scene.say("use vim")
    scene.ask(DirectiveBranch(name="try"))

    for request in (
        DirectiveSubmit(state=many("item")),
        DirectiveUndo(),
        DirectiveRedo(),
        DirectiveSubmit(state=many("thing"), branch="try"),
        DirectiveMerge(source="main", branch="try"),
        DirectiveSubmit(text="clear state"),
        DirectiveUndo(),
    ):
        scene.ask(request)

    again = EMPTY_LEDGER
    for fact, position in scene.facts:
        assert kept(fact, blobs) == fact
        again = evolve(again, kept(fact, blobs), position)
    assert again == scene.ledger
    assert len(scene.policies()) == 9_000
    assert len(scene.policies("try")) == 18_000


def test_a_merge_with_more_conflicts_than_an_event_holds_is_refused_in_one_line() -> None:
    scene = Scene()
    scene.ask(DirectiveBranch(name="try"))
    scene.ask(DirectiveSubmit(state=many("item"), branch="try"))
    scene.ask(DirectiveSubmit(state=many("item", "prohibit")))

    refused = scene.ask(DirectiveMerge(source="try"))

    assert isinstance(refused, DirectiveRefused)
    assert "longer than an event" in refused.reason
    assert len(scene.policies()) == 9_000
    assert isinstance(scene.say("use vim"), DirectiveApplied)


@pytest.mark.parametrize("killed", [False, True])
def test_what_was_decided_before_a_kill_counts_for_the_requests_that_waited(killed: bool) -> None:
    """The facts stand in the log behind the requests that were published before them."""
    world = World()
    engine = DirectiveEngine(world.history, MemoryBlobs())
    texts = ("use ash", "prohibit b")
    world.publish(*(DirectiveSubmit(text=text) for text in texts), source="owner")
    world.publish(DirectiveUndo(), DirectiveUndo(), source="owner")
    world.pump(engine, limit=2)

    if killed:
        engine = DirectiveEngine(world.history, MemoryBlobs())
        world.recall(engine, 0, 2)
    world.pump(engine)

    undone = [each.undone for each in world.said(DirectiveUndone)]
    assert undone == [2, 1]


def test_what_was_decided_counts_when_an_event_is_handed_out_again() -> None:
    world = World()
    engine = DirectiveEngine(world.history, MemoryBlobs())
    world.publish(DirectiveSubmit(text="use ash"), DirectiveUndo(), source="owner")
    world.pump(engine, limit=1)
    world._handle(engine, 1)  # it fails, and what it said is lost

    world.pump(engine)

    assert [each.undone for each in world.said(DirectiveUndone)] == [1]


def test_a_fact_whose_blob_is_lost_is_not_passed_over() -> None:
    asked: list[str] = []

    def history(stream: str) -> list[Recorded]:
        asked.append(stream)
        return []

    ledgers = Ledgers(history, MemoryBlobs())
    fact = replace(Scene().say("use vim"), changes=(), changes_blob="0" * 64, changes_stored=1)

    ledgers.at("user")
    ledgers.fold("user", fact, 10)
    ledgers.at("user")

    assert asked == ["directive/user", "directive/user"]


@pytest.mark.parametrize("data", [b"", b"{}", b'[{"type":"other"}]', b"\xff"])
def test_a_blob_without_changes_is_one_clear_error(data: bytes) -> None:
    blobs = MemoryBlobs()
    fact = Scene().say("use vim")
    named = replace(fact, changes=(), changes_blob=blobs.put(data), changes_stored=1)

    with pytest.raises(ChangesLostError, match="holds no changes of directives"):
        loaded(named, blobs.get)


def test_nobody_goes_by_a_ledger_without_changes_that_were_lost() -> None:
    world, blobs = World(), MemoryBlobs()
    engine = DirectiveEngine(world.history, MemoryBlobs())  # its blobs are not those of the reader
    world.publish(DirectiveSubmit(text="use ash"), source="owner")
    world.pump(engine)
    ledgers = Ledgers(world.history, blobs)
    assert ledgers.in_force(["user"]).rule("ash") == "use"
    world.publish(DirectiveSubmit(state=many("item", "prohibit")), source="owner")
    world.pump(engine)
    (_, lost) = world.said(DirectiveApplied)
    assert lost.changes_blob

    ledgers.fold("user", lost, 3)

    with pytest.raises(CortexError, match="blob"):
        ledgers.in_force(["user"])
