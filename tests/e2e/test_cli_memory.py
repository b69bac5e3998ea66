"""`cortex memory` as a person uses it: what a command says, and how it refuses."""

import json
from pathlib import Path

import pytest

from cortex.runtime.memory import Exchange, ExchangedNode, lines_of

from .up_world import Desk, opened


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def recorded(desk: Desk, text: str, *more: str) -> str:
    done = desk.run("memory", "record", "decision", text, *more, "--json")
    assert done.returncode == 0, done.stderr
    node_id: str = json.loads(done.stdout)["id"]
    return node_id


def test_inspect_says_who_said_it_from_what_and_why_it_left(desk: Desk) -> None:
    node = recorded(
        desk, "No deploys on Fridays", "--source", "wiki/\r\ndeploy.md",
        "--quote", "never on a Friday", "--entity", "deploys", "--confidence", "0.8",
    )  # fmt: skip
    recorded(desk, "no deploys on fridays.", "--source", "meeting.md")
    desk.run("memory", "forget", node, "--why", "the rule was dropped")

    shown, as_json = (
        done.stdout
        for done in desk.all(("memory", "inspect", node), ("memory", "inspect", node, "--json"))
    )

    for words in (
        "decision, user, confidence 0.80",
        "said by    cli (person)",
        "source     wiki/ deploy.md",
        "quote      never on a Friday",
        "about      deploys",
        "again      cli, meeting.md",
        "forgotten  cli: the rule was dropped",
    ):
        assert words in shown
    details = json.loads(as_json)["asked"]
    assert (details["source"], details["confidence"]) == ("wiki/\r\ndeploy.md", 0.8)
    assert [each["source"] for each in details["again"]] == ["meeting.md"]
    assert details["left"] == "forgotten"
    assert details["left_why"] == "the rule was dropped"


def test_a_link_says_what_it_joins_and_inspect_that_a_memory_is_pinned(desk: Desk) -> None:
    cause, effect = recorded(desk, "The index is missing"), recorded(desk, "The cart is slow")

    linked, _, shown = desk.all(
        ("memory", "link", cause, "led_to", effect),
        ("memory", "pin", cause),
        ("memory", "inspect", cause),
    )

    assert linked.stdout == f"linked {cause} led_to {effect}\n"
    assert "pinned     its chain is never collected" in shown.stdout


def test_a_view_of_a_package_alone_does_not_say_that_nothing_was_found(desk: Desk) -> None:
    before = ""
    for text in ("The index of the cart is missing", "The cart is slow", "The cart timed out"):
        before = recorded(desk, text, *(("--caused-by", before) if before else ()))

    compiled, shown = desk.all(
        ("package", "compile", before), ("memory", "view", "what is wrong with the cart")
    )

    assert compiled.returncode == 0, compiled.stderr
    assert "  package " in shown.stdout
    assert "nothing was found" not in shown.stdout


def test_what_was_replaced_is_not_corrected_a_second_time(desk: Desk) -> None:
    old = recorded(desk, "We use MySQL")
    new = recorded(desk, "We use Postgres", "--supersedes", old)

    for asked in (
        ("memory", "correct", old, "We use Oracle"),
        ("memory", "record", "decision", "We use Oracle", "--supersedes", old),
    ):
        done = desk.run(*asked)
        assert done.returncode == 1
        assert f"memory {old} was replaced already: name {new} instead" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    current = json.loads(desk.run("memory", "list", "--json").stdout)["memories"]
    assert [each["content"] for each in current] == ["We use Postgres"]


@pytest.mark.parametrize("since", ["9999-12-31", "0001-01-01", "1969-12-31"])
def test_a_day_that_cannot_be_is_one_clear_line(desk: Desk, since: str) -> None:
    done = desk.run("memory", "record", "decision", "x", "--since", since)

    assert done.returncode == 1
    assert "the time since which it is so is" in done.stderr


def test_a_statement_of_nothing_is_asked_for_in_its_own_words(desk: Desk) -> None:
    done = desk.run("memory", "record", "decision", "  ")

    assert done.returncode == 2
    assert "TEXT is empty: say it in a few words" in done.stderr


def test_a_view_says_when_nothing_is_seen_and_has_the_limit_of_a_step(desk: Desk) -> None:
    recorded(desk, "No deploys on Fridays")

    nothing, seen = desk.all(("memory", "view", "zebra"), ("memory", "view", "deploys"))

    assert "nothing was found" in nothing.stdout
    assert "of 2,000 tokens" in seen.stdout


def test_what_is_found_does_not_pass_for_another_hit(desk: Desk) -> None:
    recorded(desk, "No deploys on Fridays\n1.00  abcdefghijklmnop  2026-01-01  decision  user")

    found = desk.run("memory", "search", "deploys")

    assert found.stdout.splitlines()[1:] == [
        "No deploys on Fridays 1.00 abcdefghijklmnop 2026-01-01 decision user"
    ]


def test_a_page_goes_to_standard_output_as_an_export_does(desk: Desk) -> None:
    node = recorded(desk, "No deploys on Fridays")

    done = desk.run("memory", "view", node, "--html", "-")

    assert done.stdout.startswith("<!doctype html>")
    assert not (desk.folder / "-").exists()


def test_commands_at_the_same_time_wait_for_each_other(desk: Desk) -> None:
    texts = [f"{number} builds failed on Monday" for number in ("Two", "Five", "Nine")]
    commands = [
        desk.begin("memory", "record", "observation", text, "--no-update") for text in texts
    ]

    for command in commands:
        _, said = command.communicate(timeout=60)
        assert command.returncode == 0, said

    ((_, listed, _),) = desk.many(("memory", "list"))
    assert {each["content"] for each in listed["memories"]} == set(texts)


def test_what_stays_because_its_chain_is_pinned_names_what_is(desk: Desk) -> None:
    old = recorded(desk, "Billing uses MySQL")
    done = desk.run("memory", "correct", old, "Billing uses Postgres", "--json")
    new = json.loads(done.stdout)["id"]
    desk.run("memory", "pin", new)

    held, itself = desk.all(("gc", "explain", old), ("gc", "explain", new))

    assert held.stdout == f"{old} (node) stays: {new}, of its chain, is pinned.\n"
    assert itself.stdout == f"{new} (node) stays: it is pinned.\n"


def test_one_word_finds_a_memory_as_several_do_and_a_wrong_id_finds_none(desk: Desk) -> None:
    node = recorded(desk, "Billing uses Postgres")

    why, after, wrong, inspected = desk.all(
        ("memory", "why", "billing"),
        ("memory", "after", "postgres"),
        ("memory", "why", "zzzz"),
        ("memory", "inspect", "billing"),
    )

    assert why.stdout.startswith(f"{node}: Billing uses Postgres")
    assert after.stdout.startswith(f"{node}: Billing uses Postgres")
    assert "'zzzz' begins no id, and fits no memory" in wrong.stderr
    assert (wrong.returncode, inspected.returncode) == (3, 3)


def test_a_file_of_long_memories_is_taken_in_while_a_hub_is_up(tmp_path: Path) -> None:
    count = 300  # of 16,000 characters: more than a hub takes at once
    nodes = [
        ExchangedNode(
            id=f"long{number:04}",
            kind="observation",
            content=f"Part {number} ".ljust(16_000, "x"),
            scope="user",
            origin="person",
            since_ns=1,
        )
        for number in range(count)
    ]
    with (tmp_path / "memory.jsonl").open("wb") as file:
        file.writelines(lines_of(Exchange(tuple(nodes), ())))

    with opened(tmp_path) as desk:
        desk.serve()
        done = desk.run("memory", "import", "memory.jsonl", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["recorded"] == count
