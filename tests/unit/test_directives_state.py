"""States as values: canonical bytes, digests, differences, checkpoints, and many threads."""

import json
import threading

import pytest

from cortex.runtime.directives import (
    DIALOGUE,
    INITIAL,
    SEED,
    STRICT,
    DirectiveHolder,
    Profile,
    State,
    StateInvalidError,
    StateVersionError,
    TextMap,
    apply,
    export_checkpoint,
    export_state,
    fold,
    import_checkpoint,
    import_state,
    state_diff,
)

REPLACEMENT = '{"kind":"replacement","prompt_to_user":"?","replacement":{"kind":%s}}'


def after(profile: Profile, *texts: str, state: State = INITIAL) -> State:
    """The state after *texts*."""
    for text in texts:
        state, _ = profile.step(state, text)
    return state


def test_the_bytes_of_a_state_and_of_a_checkpoint_stay_as_they_are() -> None:
    state = after(
        DIALOGUE, "set premise kürzer", "use zeta", "prohibit alpha", "use a1 instead of b1"
    )

    assert export_state(DIALOGUE, state) == (
        '{"policies":{"alpha":"prohibit","zeta":"use"},"premise":"k\\u00fcrzer","version":2}'
    )
    assert json.loads(export_checkpoint(DIALOGUE, state)) == {
        "authoritative_state": json.loads(export_state(DIALOGUE, state)),
        "checkpoint_version": 1,
        "pending": {
            "kind": "replacement",
            "prompt_to_user": '"b1" is not in use. Do you want to use "a1"?',
            "replacement": {"kind": "use_only", "new_item": "a1", "old_item": None},
        },
    }


def test_the_digest_of_a_state_stays_as_it_is() -> None:
    # Recorded digests are compared with it: a change would make every record look altered.
    state = after(STRICT, "set premise short", "use docker", "prohibit vim")

    assert INITIAL.digest == "b202e5b9253808106b0fc2d4379b91cbd47deb002086a87f323b58936eee7661"
    assert state.digest == "23b4b9d0bf6c9c913adf0a3195cb7e1c1e841a2fb542090e7e12c1fe6f439f8a"


def test_the_digest_depends_on_the_content_and_not_on_the_way_to_it() -> None:
    names = [f"use item {number}" for number in range(200)]
    one = after(STRICT, *names)
    other = after(STRICT, *reversed(names), "use more", "use most", "remove policy more")

    other = after(STRICT, "remove policy most", state=other)

    assert one.digest == other.digest
    assert one == other
    assert after(STRICT, "remove policy item 7", state=one).digest != one.digest


def test_a_pending_question_is_part_of_the_digest_and_of_a_checkpoint_only() -> None:
    asked = after(DIALOGUE, "use podman instead of docker")

    assert asked.digest != INITIAL.digest
    assert export_state(DIALOGUE, asked) == export_state(DIALOGUE, INITIAL)
    assert import_checkpoint(DIALOGUE, export_checkpoint(DIALOGUE, asked)) == asked


@pytest.mark.parametrize("text", ["no use docker", "use what you like"])
def test_a_question_of_the_seed_profile_survives_a_checkpoint(text: str) -> None:
    asked = after(SEED, "use a Mac", text)
    back = import_checkpoint(SEED, export_checkpoint(SEED, asked))

    assert back == asked
    assert after(SEED, "yes", state=back) == after(SEED, "yes", state=asked)


def test_an_older_state_stays_as_it_was() -> None:
    one = after(STRICT, "use docker")
    after(STRICT, "clear state", state=one)
    after(STRICT, "use podman instead of docker", state=one)

    assert one.policies.items() == [("docker", "use")]


def test_an_update_shares_all_but_a_few_nodes_at_any_size() -> None:
    made: list[int] = []
    for size in (100, 10_000):
        state = after(STRICT, *(f"use item {number}" for number in range(size)))
        known = {id(node) for node in nodes(state.policies)}
        grown = after(STRICT, "use docker", state=state)
        made.append(sum(id(node) not in known for node in nodes(grown.policies)))

    assert made[0] <= 5
    assert made[1] <= 8


def nodes(found: TextMap) -> list[object]:
    todo: list[object] = [found.root]
    seen: list[object] = []
    while todo:
        node = todo.pop()
        if node is not None:
            seen.append(node)
            todo.extend(getattr(node, "children", ()))
    return seen


def test_a_difference_says_what_to_change_and_is_that_change() -> None:
    one = after(STRICT, "set premise a", "use docker", "use vim", "prohibit emacs")
    other = after(
        STRICT, "change premise to b", "remove policy vim", "remove policy emacs", state=one
    )
    other = after(STRICT, "use emacs", "prohibit nano", state=other)

    found = state_diff(one, other)

    assert found.facts.changed["premise"].after == "b"
    assert found.policies.added == {"nano": "prohibit"}
    assert found.policies.removed == {"vim": "use"}
    assert found.policies.changed["emacs"].before == "prohibit"
    assert fold(one, found.changes()) == other
    assert not state_diff(one, one).changed


def test_recorded_changes_fold_to_the_state() -> None:
    live, folded = INITIAL, INITIAL
    for text in (
        "use docker",
        "use podman instead of docker",
        "prohibit x",
        "use y instead of x",
        "yes",
    ):
        live, decision = DIALOGUE.step(live, text)
        for change in decision.changes:
            folded = apply(folded, change)

    assert folded == live


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "null",
        "{}",
        '{"policies":{},"version":2}',
        '{"policies":[],"premise":null,"version":2}',
        '{"policies":{"a":"deny"},"premise":null,"version":2}',
        '{"policies":{},"premise":" ","version":2}',
        '{"policies":{"\\u00a0":"use"},"premise":null,"version":2}',
        '{"policies":{"Docker":"use","docker ":"prohibit"},"premise":null,"version":2}',
        '{"policies":{},"premise":"a","premise":"b","version":2}',
        '{"policies":{},"premise":null,"version":2,"more":1}',
        '{"policies":{},"premise":null,"version":true}',
        '{"policies":{"\\ud800":"use"},"premise":null,"version":2}',
        '{"policies":{"a":"use","a":"prohibit"},"premise":null,"version":2}',
        '{"policies":{"a":"use"},"premise":null,"policies":{},"version":2}',
    ],
)
def test_what_is_no_state_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(StateInvalidError, match=r"^not a state of directives: [^\n]+$"):
        import_state(STRICT, text)


@pytest.mark.parametrize("inner", ["[" * 50_000, "1" * 5_000, '{"a":1,"a":1}'])
def test_a_checkpoint_with_anything_else_inside_is_refused_in_one_line(inner: str) -> None:
    text = f'{{"authoritative_state":{inner},"checkpoint_version":1,"pending":null}}'

    with pytest.raises(StateInvalidError, match=r"^not a state of directives: [^\n]+$"):
        import_checkpoint(STRICT, text)


def test_a_newer_version_is_one_clear_error_whatever_else_it_has() -> None:
    with pytest.raises(
        StateVersionError, match=r"has version 3.*reads version 2: use a newer Cortex"
    ):
        import_state(STRICT, '{"scopes":{},"version":3}')
    with pytest.raises(StateVersionError, match="checkpoint"):
        import_checkpoint(DIALOGUE, '{"checkpoint_version":2}')
    with pytest.raises(StateVersionError, match="use the profile that wrote it"):
        import_state(STRICT, export_state(SEED, INITIAL))


@pytest.mark.parametrize(
    "pending",
    [
        '{"kind":"replacement"}',
        REPLACEMENT % '"use_only","new_item":"a1","old_item":"b1"',
        REPLACEMENT % '"replace_use","new_item":"a1","old_item":null',
        REPLACEMENT % '"use_only","new_item":"the","old_item":null',
    ],
)
def test_a_checkpoint_with_a_question_that_nobody_asked_is_refused(pending: str) -> None:
    state = export_state(DIALOGUE, INITIAL)
    text = f'{{"authoritative_state":{state},"checkpoint_version":1,"pending":{pending}}}'

    with pytest.raises(StateInvalidError):
        import_checkpoint(DIALOGUE, text)


def test_no_update_of_many_threads_is_lost() -> None:
    holder = DirectiveHolder(STRICT)

    def lay_down(thread: int) -> None:
        for number in range(300):
            holder.step(f"use item {thread}-{number}")

    threads = [threading.Thread(target=lay_down, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len(holder.state.policies) == 8 * 300
