"""A budget of tokens decides how many passages there are; each title is written and paid once."""

from typing import NamedTuple

from cortex.runtime.retrieval import by_file, heading_line, packed, written


class Found(NamedTuple):
    path: str
    heading: str
    first_line: int
    text: str


def turn(line: int, text: str = "Maria: A bowl.", date: str = "3 March") -> Found:
    return Found("talk.txt", date, line, text)


def test_the_best_that_fit_are_taken_and_a_title_is_paid_once() -> None:
    turns = [turn(at) for at in range(3, 20)]

    taken = packed(turns, 70, len)

    # "[3 March]\n" takes 10, and each turn with its line break 15.
    assert [one.first_line for one in taken] == [3, 4, 5, 6]
    assert packed(turns, None) == turns
    assert packed(turns, 0, len) == []


def test_what_is_too_long_is_passed_over_for_shorter_ones_behind_it() -> None:
    long = turn(3, "Maria: " + "clay " * 100)

    assert packed([long, turn(5), turn(7)], 60, len) == [turn(5), turn(7)]


def test_passages_are_written_by_file_in_their_order_with_each_title_once() -> None:
    page = Found("ops.md", "Deploying > Regions", 5, "Frankfurt goes first.")
    opened = Found("ops.md", "Deploying", 1, "# Deploying\n\nBy region.")

    talk, ops = by_file([turn(9), page, turn(4), opened, turn(2, date="1 March")])

    assert written(talk) == "[1 March]\nMaria: A bowl.\n[3 March]\nMaria: A bowl.\nMaria: A bowl.\n"
    assert written(ops) == (
        "# Deploying\n\nBy region.\n[Deploying > Regions]\nFrankfurt goes first.\n"
    )
    assert heading_line(opened) == ""
