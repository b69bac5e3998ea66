"""The commands that find by meaning: `knowledge find`, `process find`, `execution find`."""

import json
from typing import Any

import pytest

from cortex.runtime.cli import main
from cortex.runtime.kernel import Home

NOT_FOUND, WRONG_USE = 3, 2


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home.create(tmp_path_factory.mktemp("find") / ".cortex")
    folder = home.knowledge / "team"
    folder.mkdir()
    (folder / "rota.md").write_text("# Rota\n\nAda is on call this week.\n")
    (home.knowledge / "calls.txt").write_text("Ada: who is on call?\n\nBob: I am on call, Ada.\n")
    return home


class Said:
    def __init__(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        self._home, self._capsys = home, capsys

    def __call__(self, *args: str, code: int = 0) -> str:
        assert main([*args, "--home", str(self._home.path)]) == code
        out, err = self._capsys.readouterr()
        return out + err

    def json(self, *args: str) -> Any:
        return json.loads(self(*args, "--json"))


@pytest.fixture
def said(noted: Home, capsys: pytest.CaptureFixture[str]) -> Said:
    return Said(noted, capsys)


@pytest.mark.parametrize("family", ["knowledge", "process", "execution"])
def test_an_empty_text_is_refused_in_one_line(said: Said, family: str) -> None:
    told = said(family, "find", "  ", code=WRONG_USE)

    assert told.startswith("cortex: TEXT is empty: say it in a few words")
    assert told.count("\n") == 1


def test_a_topic_under_which_nothing_stands_is_told_with_those_that_are_there(said: Said) -> None:
    told = said("knowledge", "find", "on call", "--under", "nosuch", code=NOT_FOUND)

    assert told.startswith("cortex: topic 'nosuch' has no file in it or below it: there are ")
    assert "team (1)" in told
    assert said.json("knowledge", "find", "on call", "--under", "team")["passages"]


def test_why_says_what_the_factor_of_a_speaker_is(said: Said) -> None:
    named = said("knowledge", "find", "what did Bob say about being on call", "--why")
    plain = said("knowledge", "find", "on call this week", "--under", "team", "--why")

    assert "; x1.30, by an author named in the question" in named
    assert "said" not in plain


def test_nothing_found_is_one_clear_line_or_an_empty_list(said: Said) -> None:
    assert said("execution", "find", "xyzzy") == (
        "no execution has to do with that: `cortex execution list` shows all\n"
    )
    assert said("knowledge", "find", "xyzzy") == "nothing was found\n"
    assert said.json("execution", "find", "xyzzy") == []
    assert "no process here has to do with that" in said("process", "find", "xyzzy")


def test_processes_are_told_with_their_score_best_first(said: Said) -> None:
    table = said("process", "find", "the process that", "handles CI failures", "-n", "2")
    rows = said.json("process", "find", "answer out of my notes", "--limit", "1")

    header, first, *_ = table.splitlines()
    assert header == "SCORE\tNAME\tSTATUS\tDESCRIPTION"
    assert "ci_failure" in first
    assert len(table.splitlines()) == 3
    assert [row["name"] for row in rows] == ["answer_from_notes"]
    assert rows[0]["score"] >= 1


def test_several_words_are_asked_without_quotes(said: Said) -> None:
    told = said.json("knowledge", "find", "who", "is", "on", "call", "--under", "team")

    assert told == said.json("knowledge", "find", "who is on call", "--under", "team")
    assert told["passages"]


def test_a_file_that_is_no_text_is_no_topic_that_is_offered(said: Said, noted: Home) -> None:
    picture = noted.knowledge / "picture.md"
    picture.write_bytes(b"\0\1\2")
    try:
        shown = said("knowledge", "list")
        hint = said("knowledge", "find", "call", "--under", "nosuch", code=NOT_FOUND)
    finally:
        picture.unlink()

    assert "picture.md cannot be used as knowledge: it contains zero bytes" in shown
    assert not any(line.startswith("picture") for line in shown.splitlines())
    assert "picture" not in hint
