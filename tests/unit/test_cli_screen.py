"""Tables and trees: aligned and bounded on a terminal, a line for each row on a pipe."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from cortex.runtime.cli.extensions import Branch, Columns, Screen

HOSTILE = (
    "[red]x[/red]",
    "[link=https://example.com]x[/link]",
    "[/]",
    "[bold",
    "\\[x]",
    ":warning:",
    "[@click=app.bell]x[/]",
)
WIDE = "日本語の説明文はとても長いので端末の幅に収まりません"
THREE: Columns = {"id": "id", "kind": "kind", "about": "about"}
COLUMNS = f"{7:>8} {0.5:>9.3f} {'1.0 s':>10}"  # of a span
often = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
some_text = st.text(max_size=60) | st.sampled_from((*HOSTILE, WIDE, "\x1b[2J", "a\nb", "a\tb"))


class Row:
    """A document with three fields."""

    def __init__(self, id_: str, kind: str, about: str) -> None:
        self.id, self.kind, self.about = id_, kind, about


class Page:
    """What a screen printed."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self._patch, self._capture = patch, capture

    def table(self, *rows: tuple[str, str, str], columns: int | None = None) -> list[str]:
        """The lines of a table on a terminal with so many columns, or on a pipe."""
        self._screen(columns).rows([Row(*row) for row in rows], THREE)
        return self._lines()

    def tree(self, *branches: Branch, columns: int | None = None, margin: str = "") -> list[str]:
        """The lines of a tree, as `table`."""
        self._screen(columns).tree(branches, margin)
        return self._lines()

    def _screen(self, columns: int | None) -> Screen:
        self._capture.readouterr()
        screen = Screen()
        screen.terminal = columns is not None
        self._patch.setenv("COLUMNS", str(columns))
        return screen

    def _lines(self) -> list[str]:
        return self._capture.readouterr().out.removesuffix("\n").split("\n")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Page:
    return Page(monkeypatch, capsys)


def is_harmless(lines: list[str]) -> bool:
    return not any(ord(c) < 32 or 127 <= ord(c) < 160 for line in lines for c in line)


@pytest.mark.parametrize("columns", [None, 120])
@pytest.mark.parametrize("text", HOSTILE)
def test_markup_in_data_is_shown_as_it_is(page: Page, text: str, columns: int | None) -> None:
    _, row = page.table((text, text, text), columns=columns)
    entry, detail = page.tree(Branch("7", "", COLUMNS, text, "", (text,)), columns=columns)

    assert row.split() == [text, text, text]
    assert text in entry
    assert detail.strip() == text


@often
@given(st.lists(st.tuples(some_text, some_text, some_text), max_size=4), st.integers(12, 200))
def test_a_row_is_one_line_that_fits_and_holds_nothing_that_acts(
    page: Page, rows: list[tuple[str, str, str]], columns: int
) -> None:
    drawn, piped = page.table(*rows, columns=columns), page.table(*rows)

    assert len(drawn) == len(piped) == 1 + len(rows)
    assert max(map(cell_len, drawn)) <= columns
    assert is_harmless(drawn)
    assert {line.count("\t") for line in piped} == {2}
    assert is_harmless([line.replace("\t", "") for line in piped])


def test_a_pipe_gets_every_cell_whole(page: Page) -> None:
    long = "word " * 100 + WIDE * 20

    header, row = page.table(("k3f9q2m7", "a\nb", long))

    assert header == "ID\tKIND\tABOUT"
    assert row == f"k3f9q2m7\ta b\t{long}"


def test_what_a_row_is_about_gives_way_first(page: Page) -> None:
    name = "fix_ci_failure_with_notification"

    _, row = page.table((name, "process", "Repair a CI failure " * 9), columns=80)

    assert row.split()[:2] == [name, "process"]
    assert row.endswith("…")
    assert cell_len(row) == 80


def test_a_wide_first_column_leaves_room_for_the_others(page: Page) -> None:
    _, row = page.table(("x" * 90, "process", "Repair a CI failure"), columns=60)

    first, kind, about = row.split(maxsplit=2)
    assert first.endswith("…")
    assert kind == "process"
    assert about.startswith("Repair")


def test_an_id_is_whole_on_a_narrow_terminal(page: Page) -> None:
    _, row = page.table(("k3f9q2m7k3f9q2m7", "completed", WIDE), columns=40)

    assert row.startswith("k3f9q2m7k3f9q2m7  ")
    assert cell_len(row) <= 40


def test_wide_characters_are_aligned_by_the_columns_that_they_take(page: Page) -> None:
    _, wide, plain = page.table(("日本", "-", "x"), ("abcd", "-", "x"), columns=80)

    assert cell_len(wide) == cell_len(plain)
    assert cell_len(wide[: wide.index("-")]) == plain.index("-")


@often
@given(some_text, st.lists(some_text, max_size=3), st.integers(24, 200))
def test_a_tree_fits_and_holds_nothing_that_acts(
    page: Page, text: str, details: list[str], columns: int
) -> None:
    inner = Branch("8", "7", COLUMNS, text, "red", tuple(details))
    branches = (Branch("7", "", COLUMNS, text), inner, Branch("9", "gone", COLUMNS, "last"))

    lines = page.tree(*branches, columns=columns, margin="  ")

    assert max(map(cell_len, lines)) <= columns
    assert is_harmless(lines)


def test_what_belongs_to_an_entry_is_below_it_though_it_came_after_another(page: Page) -> None:
    branches = [Branch(name, around, COLUMNS, f"[{name}]") for name, around in
                (("a", ""), ("b", "a"), ("c", "a"), ("d", "b"))]  # fmt: skip

    lines = page.tree(*branches, columns=80)

    assert [line.split(" ")[0] for line in lines] == ["[a]", "├──", "│", "└──"]
    assert ["[d]" in line for line in lines] == [False, False, True, False]
    assert all(line.endswith(COLUMNS) for line in lines)


def test_a_pipe_has_a_line_for_each_entry_and_each_detail_in_order_of_time(page: Page) -> None:
    long = "word " * 100 + "end"
    branches = (Branch("a", "", COLUMNS, "one"), Branch("b", "a", COLUMNS, "two", "", (long,)))

    lines = page.tree(*branches, margin="  ")

    blank = " " * len(COLUMNS)
    assert lines == [f"{COLUMNS}    one", f"{COLUMNS}      two", f"{blank}        {long}"]


def test_a_narrow_terminal_has_the_columns_of_an_entry_behind_its_text(page: Page) -> None:
    (line,) = page.tree(Branch("a", "", COLUMNS, "gate passed"), columns=40)

    assert line.strip() == "gate passed  7 0.500 1.0 s"


def test_json_is_the_documents_alone(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(as_json=True)

    screen.rows(["[red]x[/red]"], {"text": str})
    screen.tree([Branch("a", "", COLUMNS, "one")])

    assert capsys.readouterr().out == '[\n  "[red]x[/red]"\n]\n'


@pytest.mark.parametrize("text", [WIDE, "a" * 60])
def test_a_line_is_cut_where_the_terminal_ends(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    screen = Screen()
    screen.terminal = True
    monkeypatch.setenv("COLUMNS", "40")

    cut = screen.cut(text)

    assert cut.endswith("…")
    assert 39 <= cell_len(cut) <= 40
    assert screen.cut(text, lines=2) == text
