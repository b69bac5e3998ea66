"""Reading and searching files: what a model names is found, and nothing else is."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.actors.tools import glob_of, lines_of, window
from cortex.bus.events import ModelResponded, StepCompleted, ToolFailed, ToolReturned

from .repair_world import repository
from .tools_world import Toolbox

CODE = "def total(prices):\n    return sum(prices)\n"


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "cart.py").write_text(CODE)
    (folder / "notes.md").write_text("# Cart\n\nTotals are sums.\n")
    return Toolbox(folder, folder / ".cortex")


# --- read_file


def test_lines_come_after_their_numbers(box: Toolbox) -> None:
    assert box.text("read_file", path="src/cart.py") == (
        "1\tdef total(prices):\n2\t    return sum(prices)\n"
    )
    assert box.text("read_file", path="./src/cart.py", first_line=2) == (
        "lines 2-2 of 2\n2\t    return sum(prices)\n"
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../secret", "leads out of the sources"),
        ("/etc/passwd", "the path is absolute"),
        ("link", "it is a link that leads out"),
        ("links/passwd", "it is a link that leads out"),
        ("circle", "there is no such file here"),
        (".git/config", "git's own folder"),
        (".cortex/config.toml", "Cortex keeps its own files there"),
        ("src/nothing.py", "there is no such file here"),
        ("src", "is a folder; it holds cart.py"),
        ("a\0b", "control characters"),
        ("data.bin", "is binary, 3 bytes"),
        ("pipe", "it is not a plain file"),
        ("x" * 2_000, "1 to 1,000 characters"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(box: Toolbox, path: str, said: str) -> None:
    (box.workspace.parent / "secret").write_text("secret")
    (box.workspace / "link").symlink_to(box.workspace.parent / "secret")
    (box.workspace / "links").symlink_to("/etc")
    (box.workspace / "circle").symlink_to("circle")
    (box.workspace / "data.bin").write_bytes(b"a\0b")
    os.mkfifo(box.workspace / "pipe")

    assert said in box.error("read_file", path=path)


def test_a_huge_file_is_read_in_parts(box: Toolbox) -> None:
    (box.workspace / "big.txt").write_text("x" * 99 + "\n" + "y\n" * 5_000)

    first = box.text("read_file", path="big.txt")
    rest = box.text("read_file", path="big.txt", first_line=2_001, last_line=2_002)

    assert first.startswith("lines 1-2000 of 5,001\n1\txxx")
    assert first.endswith("… more follows: read_file with first_line 2001\n")
    assert rest == "lines 2001-2002 of 5,001\n2001\ty\n2002\ty\n"


def test_a_file_larger_than_memory_should_be_is_cut_and_says_so(box: Toolbox) -> None:
    (box.workspace / "log.txt").write_bytes(b"a line\n" * (3 << 20))

    text = box.text("read_file", path="log.txt", last_line=1)

    assert text.startswith("lines 1-1 of 2,396,746\n1\ta line\n")
    assert text.endswith("… of 22,020,096 bytes only the first 16,777,216 are read\n")


def test_a_text_in_utf_16_is_text(box: Toolbox) -> None:
    (box.workspace / "u.txt").write_bytes("größe\n".encode("utf-16"))

    assert box.text("read_file", path="u.txt") == "1\tgröße\n"


@given(
    st.text(st.sampled_from("a\n\r\u2028\x0c")), st.integers(1, 9), st.none() | st.integers(1, 9)
)
def test_a_window_shows_the_lines_it_was_asked_for(text: str, first: int, last: int | None) -> None:
    lines = lines_of(text)

    shown = window(text, first, last, again="read_file")

    wanted = range(first, min(len(lines), last or len(lines)) + 1)
    numbered = [f"{n}\t{lines[n - 1]}" for n in wanted]
    assert all(f"{line}\n" in shown for line in numbered)
    assert shown.count("\t") == len(numbered)


# --- search_code


def test_lines_are_found_with_their_places(box: Toolbox) -> None:
    assert box.text("search_code", pattern=r"s[ou]\w*\(") == ("src/cart.py:2: return sum(prices)\n")
    assert box.text("search_code", pattern="SUMS", ignore_case=True) == (
        "notes.md:3: Totals are sums.\n"
    )
    assert box.text("search_code", pattern="(prices)", literal=True, glob="*.md") == (
        "nothing matches\n"
    )
    assert box.text("search_code", pattern="otal", path="src").count("\n") == 1


def test_files_that_git_ignores_and_those_of_a_home_are_not_searched(tmp_path: Path) -> None:
    folder = repository(tmp_path / "work", {"a.py": "needle\n", ".gitignore": "*.log\n"})
    (folder / "b.log").write_text("needle\n")
    (folder / "c.py").write_text("needle, not added yet\n")
    plain = tmp_path / "plain"
    plain.mkdir()
    in_plain = Toolbox(plain, plain / ".cortex")
    (plain / ".cortex" / "processes" / "x.yaml").write_text("needle\n")

    found = Toolbox(folder, folder / ".cortex").text("search_code", pattern="needle")

    assert re.findall(r"^[\w.]+", found, re.MULTILINE) == ["a.py", "c.py"]
    assert in_plain.text("search_code", pattern="needle") == "nothing matches\n"


def test_a_pattern_that_takes_for_ever_is_ended(
    box: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is the search that ends it, however long that takes it on a slow machine.
    monkeypatch.setattr("cortex.actors.tools.carrying.BEYOND_S", 120.0)
    (box.workspace / "trap.txt").write_text("a" * 60 + "!\n")

    answer = box.call("search_code", within_s=1.0, pattern="(a+)+$")

    assert isinstance(answer, ToolFailed)
    assert answer.kind == "timeout"
    assert "take a simpler pattern" in answer.error


def test_many_lines_and_long_ones_are_cut(box: Toolbox) -> None:
    (box.workspace / "many.txt").write_text("x" * 500 + "hit\n" + "hit\n" * 500)
    (box.workspace / "data.bin").write_bytes(b"hit\0")

    found = box.text("search_code", pattern="hit")

    lines = found.splitlines()
    assert len([line for line in lines if line.startswith("many.txt:")]) == 200
    assert "… more than 200 lines match: name a path or a glob" in lines
    assert all(len(line) < 400 for line in lines)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pattern": "("}, "the pattern is not a regular expression: missing )"),
        ({"pattern": ""}, "a pattern has 1 to 2,000 characters"),
        ({"pattern": "x", "path": "../"}, "leads out of the sources"),
        ({"pattern": "x", "path": "nothing"}, "there is no such file here"),
        ({"pattern": "x", "glob": "{a"}, "is not a glob"),
    ],
)
def test_a_search_that_cannot_be_made_says_why(
    box: Toolbox, arguments: dict[str, str], said: str
) -> None:
    assert said in box.error("search_code", **arguments)


@pytest.mark.parametrize(
    ("glob", "fits", "does_not"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "a.py/b"]),
        ("src/**/*.{ts,tsx}", ["src/a.ts", "src/x/y.tsx"], ["a.ts", "src/a.js"]),
        ("src/**", ["src/a", "src/b/c"], ["srcs/a"]),
        ("./src/?.c", ["src/a.c"], ["src/ab.c", "src/x/a.c"]),
        ("[!a]*.md", ["b.md"], ["a.md"]),
        ("a,b", ["a,b"], ["a"]),
    ],
)
def test_globs_mean_what_people_mean(glob: str, fits: list[str], does_not: list[str]) -> None:
    pattern = glob_of(glob)

    assert [path for path in fits if not pattern.fullmatch(path)] == []
    assert [path for path in does_not if pattern.fullmatch(path)] == []


@given(st.text(st.sampled_from("a/*?[]{}!,^\\.-"), max_size=12))
def test_any_glob_is_taken_or_refused(glob: str) -> None:
    try:
        pattern = glob_of(glob)
    except ValueError:
        return
    pattern.fullmatch("a/a.a")


# --- read_result


def test_what_a_call_gave_is_read_again_by_its_id(box: Toolbox) -> None:
    given = box.call("read_file", path="src/cart.py")
    assert isinstance(given, ToolReturned)

    again = box.text("read_result", handle=given.call_id, first_line=2)
    by_digest = box.text("read_result", handle=given.result[:12], last_line=1)

    assert again == "lines 2-2 of 2\n2\t2\t    return sum(prices)\n"
    assert by_digest == "lines 1-1 of 2\n1\t1\tdef total(prices):\n"


def test_what_a_step_kept_is_read_by_its_digest(box: Toolbox) -> None:
    digest = box.blobs.put(b"all of the output\n")
    box.record(
        StepCompleted(execution_id="e1", step_id="s0", result={"deep": [{"stdout_blob": digest}]})
    )

    assert box.text("read_result", handle=digest) == "1\tall of the output\n"


def test_only_blobs_that_events_of_the_execution_name_are_read(box: Toolbox) -> None:
    digest = box.blobs.put(b"of another execution")
    box.record(
        ModelResponded(
            execution_id="e1", step_id="s1", model="m", prompt="p", answer={"text": digest}
        )
    )

    said = box.error("read_result", handle=digest)  # the call itself names it, too

    assert "names no result here" in said
    assert "names no result here" in box.error("read_result", handle="c999")
    assert "names no result here" in box.error("read_result", handle="")


def test_a_result_that_is_gone_or_binary_is_told(box: Toolbox) -> None:
    for data in ("0" * 64, box.blobs.put(b"a\0b")):
        box.record(StepCompleted(execution_id="e1", step_id="s0", result={"blob": data}))

    assert "is not kept any more" in box.error("read_result", handle="0" * 64)
    assert "is binary, 3 bytes" in box.error("read_result", handle=box.blobs.put(b"a\0b"))


# --- find_knowledge


def test_knowledge_is_found_by_words_and_read_whole_by_topic(box: Toolbox) -> None:
    assert box.home is not None
    page = box.home.path / "knowledge" / "cart.md"
    page.write_text("# Cart\n\nRound a discount down.\n\n# Taxes\n\nTaxes are added last.\n")

    found = box.text("find_knowledge", query="how are discounts rounded?")
    whole = box.text("find_knowledge", query="cart")

    assert found.startswith("## cart, lines 1-3, 5-7\n# Cart\n\nRound a discount down.\n")
    assert "Taxes are added last." in whole
    assert str(box.home.path) not in found + whole


def test_what_nobody_wrote_down_is_not_known(box: Toolbox) -> None:
    assert box.text("find_knowledge", query="xyzzy") == "nothing is known about 'xyzzy'\n"
    assert "1 to 1,000 characters" in box.error("find_knowledge", query=" ")
