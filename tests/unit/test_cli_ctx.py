"""`cortex ctx`: what it prints, and that what a user gets wrong is one line that names its file."""

import io
import json
from pathlib import Path

import pytest

from cortex.runtime.cli import main

YAML = "# why\nberth: {depth: 1.10, crane: 0x1F}\nopen: true\n"
MIXED = """\
# Manual

In order to open the gate, the operator has to pull the lever that is located at the north end.

| gate | depth |
| --- | ---: |
| north | 1.10 |

```python
def gate():   # in order to   open
    return 1_000
```

- In order to close the gate, the operator has to push the lever, which is located at the south end.

    as it is,  in order to
"""
EXACT = (
    "# Manual",
    "| north | 1.10",
    "def gate():   # in order to   open",
    "    as it is,  in order to",
)


class Input:
    """Standard input."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "berth.yaml").write_text(YAML)
    (tmp_path / "words.txt").write_text("hello there")
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "latin.csv").write_bytes("café\n".encode("latin-1"))
    (tmp_path / "cut.ctx").write_text("#ctx exact json\na [1, 2\n")
    (tmp_path / "half.json").write_text('{"a": 1,\n"b')
    (tmp_path / "folder").mkdir()
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert main(["ctx", *args]) == code
    return capsys.readouterr().out


def test_what_is_encoded_is_decoded_through_files_and_through_standard_input(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = printed(capsys, "encode", "berth.yaml")
    (folder / "berth.ctx").write_text(package)

    monkeypatch.setattr("sys.stdin", Input(package.encode()))
    decoded = printed(capsys, "decode", "-")
    (folder / "again.yaml").write_text(decoded)
    monkeypatch.setattr("sys.stdin", Input(YAML.encode()))

    assert "1.10" in decoded
    assert "0x1F" in decoded
    assert printed(capsys, "check", "again.yaml", "berth.ctx") == "verbatim: nothing is lost\n"
    assert printed(capsys, "check", "--kind", "yaml", "-", "berth.ctx").endswith("is lost\n")


def test_check_says_what_is_lost_and_where(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = printed(capsys, "encode", "berth.yaml")
    (folder / "berth.ctx").write_text(package.replace("1.10", "1.20"))

    lost = printed(capsys, "check", "berth.yaml", "berth.ctx", code=1)
    document = json.loads(printed(capsys, "check", "--json", "berth.yaml", "berth.ctx", code=1))

    assert lost == "lost: berth.depth: 1.10 in the source, 1.20 in the package\n"
    assert document["lost"] == ["berth.depth: 1.10 in the source, 1.20 in the package"]


def test_a_text_that_is_shorter_than_any_header_is_its_own_package(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (row, _) = json.loads(printed(capsys, "stats", "--json", "words.txt", "berth.yaml"))

    package = printed(capsys, "encode", "words.txt")

    assert row["tokens"] == row["source_tokens"]
    assert row["mode"] == "verbatim"
    assert package.removesuffix("\n") == Path("words.txt").read_text()
    assert printed(capsys, "decode", "words.txt") == package


def test_every_part_of_a_condensed_document_has_the_mode_that_made_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "manual.md").write_text(MIXED)

    package = json.loads(printed(capsys, "encode", "--condense", "--json", "manual.md"))

    parts = package["parts"]
    texts = [package["text"][part["start"] : part["end"]] for part in parts]
    exact = "".join(t for t, part in zip(texts, parts, strict=True) if part["mode"] == "exact")
    condensed = "".join(t for t, p in zip(texts, parts, strict=True) if p["mode"] == "condensed")
    assert "".join(texts) == package["text"]
    for line in EXACT:
        assert f"\n{line}" in exact
    assert "in order to" not in condensed.lower()
    assert "lever" in condensed


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ("decode empty.json", "empty.json: not a package: it is empty; give what"),
        ("decode half.json", "half.json, line 2: its JSON cannot be read"),
        ("decode cut.ctx", "cut.ctx, line 1: ] is missing at character 6: the package is damaged"),
        ("decode missing.ctx", "missing.ctx: No such file or directory"),
        ("decode binary.json", "binary.json is not UTF-8 at byte 1"),
        ("encode empty.json", "empty.json, line 1: not json: it is empty; correct it, or name"),
        ("encode half.json", "half.json, line 2: not json"),
        ("encode latin.csv", "latin.csv is not UTF-8 at byte 4: convert it"),
        ("encode --draft words.txt berth.yaml", "--draft is for prose, and berth.yaml is yaml"),
        ("encode --draft - -", "FILE and --draft are both standard input"),
        ("encode --kind toml berth.yaml", "berth.yaml: not toml"),
        ("check - -", "SOURCE and PACKAGE are both standard input"),
        ("check half.json cut.ctx", "cut.ctx, line 1: ] is missing"),
        ("stats berth.yaml half.json", "half.json, line 2: not json"),
    ],
)
def test_what_a_user_gets_wrong_is_one_line_that_names_its_file(
    args: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["ctx", *args.split(), "--json"])

    found = capsys.readouterr()
    assert code == 1
    assert found.err.count("\n") == 1
    assert problem in found.err
    assert problem.partition(":")[0] in json.loads(found.out)["error"]["message"]


@pytest.mark.parametrize("command", ["encode", "decode", "stats"])
def test_a_folder_is_no_file(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ctx", command, "folder"]) == 2
    assert "'folder' is a directory" in capsys.readouterr().err


@pytest.mark.parametrize("budget", ["1", "12"])
def test_a_budget_in_which_no_sentence_fits_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], budget: str
) -> None:
    source = tmp_path / "report.md"
    source.write_text("The gate opens at 9:30 and it must not close before 17:00. " * 20)

    assert main(["ctx", "encode", "--budget", budget, str(source)]) == 1

    said = capsys.readouterr()
    assert said.out == ""
    assert f"fits in {budget} token" in said.err
