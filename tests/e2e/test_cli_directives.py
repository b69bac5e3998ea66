"""`cortex directive` as people meet it: sentences, history, branches, files and a pipe."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CORTEX = Path(sys.executable).parent / "cortex"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run(tmp_path, "init")
    return tmp_path


def run(folder: Path, *words: str, code: int = 0, typed: str = "") -> str:
    """What a command prints, which has to end with *code*."""
    done = subprocess.run(
        [str(CORTEX), *words], cwd=folder, input=typed, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout if code in (0, 1) and done.stdout else done.stderr


def document(folder: Path, *words: str, code: int = 0) -> Any:
    return json.loads(run(folder, "directive", *words, "--json", code=code))


def test_what_is_laid_down_is_kept_shown_and_taken_back(folder: Path) -> None:
    assert document(folder, "step", "prohibit", "Docker")["outcome"] == "applied"
    refused = document(folder, "step", "use docker", "--profile", "strict", code=1)
    assert refused["failure"] == "item_prohibited"
    assert refused["repairs"] == ["remove policy docker", "use docker"]
    then = document(folder, "step", "set premise short answers")["position"]
    assert document(folder, "undo")["outcome"] == "undone"

    now = document(folder, "state")
    earlier = document(folder, "state", "--at", str(then))

    assert [row["name"] for row in now["directives"]] == ["docker"]
    assert [row["name"] for row in earlier["directives"]] == ["premise", "docker"]
    said = [row["said"] for row in document(folder, "history")]
    assert said[0] == "prohibit Docker"
    assert said[1].startswith("refused: ")
    assert "prohibit docker  (since" in run(folder, "directive", "state")


def test_an_answer_says_what_holds_now_or_what_to_do(folder: Path) -> None:
    run(folder, "directive", "step", "prohibit docker")
    row = document(folder, "history")[0]

    undone = run(folder, "directive", "undo")
    table = run(folder, "directive", "history").splitlines()
    run(folder, "directive", "branch", "trial")
    run(folder, "directive", "step", "use docker", "--branch", "trial")
    run(folder, "directive", "step", "prohibit docker")
    conflict = run(folder, "directive", "merge", "trial", code=1)
    barred = run(folder, "directive", "step", "use docker")

    assert barred.startswith('not laid down: "docker" is prohibited.')
    assert undone == f"undid what was laid down at {row['request']}; now nothing about docker\n"
    assert table[1].startswith(f"{row['position']}\t{row['request']}\t")
    assert conflict.splitlines()[1:] == [
        "  docker: prohibit here, use there",
        "  lay it down in one of the branches, then merge again",
    ]


def test_lines_of_a_pipe_are_answered_one_by_one(folder: Path) -> None:
    typed = (
        "use podman instead of lxc\nanything else\nyes\n\n:state\n:undo\n:redo\nhello\n:quit\nuse x"
    )
    answers = run(folder, "directive", "repl", "--json", typed=typed).splitlines()

    found = [json.loads(line) for line in answers]
    assert [each.get("outcome", "state") for each in found] == [
        *("clarification_asked", "clarification_asked", "applied", "state", "undone", "redone"),
        "passed",
    ]
    assert [each["waits"] for each in found[:2]] == [True, True]
    assert "podman" in run(folder, "directive", "state")
    run(folder, "directive", "repl", typed="undo what\n:undo\n:undo\n", code=1)


def test_a_line_that_cannot_be_recorded_does_not_stop_the_others(folder: Path) -> None:
    typed = f"use \udcff\nuse {'x' * 300_000}\nuse vim\n"
    done = subprocess.run(
        [str(CORTEX), "directive", "repl"],
        cwd=folder, input=typed.encode(errors="surrogateescape"), capture_output=True, timeout=120,
    )  # fmt: skip

    assert done.returncode == 1
    assert b"not UTF-8" in done.stdout
    assert b"at most 200,000" in done.stdout
    assert b"applied: use vim" in done.stdout


def test_branches_merge_and_scopes_are_listed(folder: Path) -> None:
    run(folder, "directive", "merge", code=2)
    run(folder, "directive", "branch", "try")
    run(folder, "directive", "step", "use vim", "--branch", "try")
    run(folder, "directive", "step", "prohibit vim")

    conflicted = document(folder, "merge", "try", code=1)
    assert conflicted["conflicts"] == [{"name": "vim", "here": "prohibit", "there": "use"}]

    run(folder, "directive", "step", "use nano", "--scope", "execution:1")
    run(folder, "directive", "merge", "--scope", "execution:2", "--from-scope", "execution:1")
    rows = document(folder, "scopes")
    assert [(row["scope"], row["policies"]) for row in rows] == [
        ("user", 1),
        ("execution:1", 1),
        ("execution:2", 1),
    ]


def test_several_scopes_show_what_is_in_force_and_what_is_overruled(folder: Path) -> None:
    run(folder, "directive", "step", "use vim")
    run(folder, "directive", "step", "prohibit vim", "--scope", "project:site")

    both = ("state", "--scope", "user", "--scope", "project:site")
    found = document(folder, *both)

    assert [(each["value"], each["scope"]) for each in found["directives"]] == [
        ("prohibit", "project:site")
    ]
    assert [each["scope"] for each in found["overruled"]] == ["user"]
    assert "overruled: use vim" in run(folder, "directive", *both)
    run(folder, "directive", *both, "--branch", "try", code=2)


def test_a_file_is_taken_in_whole_or_not_at_all(folder: Path) -> None:
    run(folder, "directive", "step", "use vim")
    run(folder, "directive", "export", "kept.json")
    text = (folder / "kept.json").read_text()
    assert text == '{"policies":{"vim":"use"},"premise":null,"version":2}\n'
    assert run(folder, "directive", "export", "-") == text
    (folder / "bad.json").write_text(text.replace('"use"', '"maybe"'))
    (folder / "none.json").write_bytes(b"\xff\x00")

    (folder / "large.json").write_bytes(b" " * ((16 << 20) + 2))

    for bad in ("bad.json", "none.json", "large.json"):
        assert "not a state of directives" in run(folder, "directive", "import", bad, code=1)
    assert document(folder, "import", "kept.json", "--scope", "project:site")["changed"]

    assert run(folder, "directive", "export", "-", "--scope", "project:site") == text


def test_what_is_laid_down_about_a_person_goes_with_an_erasure(folder: Path) -> None:
    anna = ("--subject", "anna@example.org")
    policies = ",".join(f'"thing {n} of anna":"prohibit"' for n in range(9_000))
    (folder / "big.json").write_text(
        f'{{"policies":{{{policies}}},"premise":"anna","version":2}}', "utf-8"
    )
    run(folder, "directive", "step", "prohibit docker")
    run(folder, "directive", "step", "use the laptop of anna", *anna)
    run(folder, "directive", "import", "big.json", *anna)
    run(folder, "directive", "undo", *anna)
    assert "laptop of anna" in run(folder, "directive", "state")
    (folder / "big.json").unlink()

    erased = run(folder, "audit", "erase", anna[1], "--why", "asked", "--find", "of anna")

    assert "nothing unencrypted in this home" in erased
    assert [row["name"] for row in document(folder, "state")["directives"]] == ["docker"]
    for shown in (("history",), ("export", "-"), ("state", "--at", "40")):
        assert "anna" not in run(folder, "directive", *shown)
    assert document(folder, "undo")["outcome"] == "undone"
    assert document(folder, "state")["directives"] == []


def test_what_is_wrong_is_said_in_one_line(folder: Path) -> None:
    assert "no scope" in run(folder, "directive", "step", "use x", "--scope", "nowhere", code=1)
    assert "no scope" in run(folder, "directive", "state", "--scope", "nowhere", code=1)
    assert "no branch" in run(folder, "directive", "state", "--branch", "none", code=3)
    assert "TEXT is empty" in run(folder, "directive", "step", "", code=2)
    assert "nothing to undo" in run(folder, "directive", "undo", code=1)
    pinned = run(folder, "directive", "pin", "vim", code=1)
    assert "nothing is laid down about 'vim'" in pinned


def test_a_preview_lays_nothing_down(folder: Path) -> None:
    found = document(folder, "preview", "use vim")

    assert found["changed"] == [["vim", "", "use"]]
    assert "nothing is laid down" in run(folder, "directive", "state")


def test_a_preview_says_that_a_pin_refuses_it(folder: Path) -> None:
    run(folder, "directive", "step", "use visual studio")
    run(folder, "directive", "pin", "visual studio")

    found = document(folder, "preview", "remove policy visual studio")

    assert (found["decision"], found["changed"]) == ("refused", [])
    assert "`cortex directive pin 'visual studio' --release`" in found["says"]


def test_an_answer_that_changes_nothing_is_shown_as_an_answer(folder: Path) -> None:
    run(folder, "directive", "step", "use podman instead of lxc")

    assert run(folder, "directive", "step", "no") == "applied: no\n"
    run(folder, "directive", "step", "use vim")
    assert run(folder, "directive", "step", "use vim") == "applied: use vim (said so already)\n"


def test_commands_at_once_wait_for_each_other(folder: Path) -> None:
    begun = [
        subprocess.Popen(
            [str(CORTEX), "directive", "step", f"use item {n}"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for n in range(3)
    ]
    said = [each.communicate(timeout=120)[0] for each in begun]

    assert [each.returncode for each in begun] == [0, 0, 0], said
    assert len(document(folder, "state")["directives"]) == 3


def test_a_bad_line_of_a_pipe_is_named_and_the_others_are_taken(folder: Path) -> None:
    done = subprocess.run(
        [str(CORTEX), "directive", "repl"],
        cwd=folder,
        input=b"use vim\n:udno\nuse \xff\xfe\nuse nano\n",
        capture_output=True,
        timeout=120,
    )

    assert done.returncode == 1
    answers = done.stdout.decode().splitlines()
    assert answers[1].startswith("refused: there is no command :udno")
    assert answers[2] == r"refused: use \xff\xfe is not UTF-8"
    assert not done.stderr
    assert [row["name"] for row in document(folder, "state")["directives"]] == ["nano", "vim"]
    assert len(document(folder, "history")) == 2


def test_a_file_that_is_not_utf_8_is_damaged(folder: Path) -> None:
    (folder / "bad.json").write_bytes(b'{"policies":{"vi\xffm":"use"},"premise":null,"version":2}')

    assert "not UTF-8 at byte 17" in run(folder, "directive", "import", "bad.json", code=1)
    assert document(folder, "state")["directives"] == []


def test_a_memory_that_a_directive_overrules_says_so_where_it_is_shown(folder: Path) -> None:
    done = run(folder, "memory", "record", "decision", "We use Docker for the site", "--json")
    node = json.loads(done)["id"]
    run(folder, "directive", "step", "prohibit docker")
    by = "overruled by `prohibit docker` of the scope user"

    assert by in run(folder, "memory", "search", "how is the site built?")
    assert by in run(folder, "memory", "inspect", node)
    assert by in run(folder, "memory", "why", node)
    assert by in run(folder, "memory", "constraints", "docker for the site")
    assert "`prohibit docker`" in run(folder, "memory", "list")
    assert by in run(folder, "memory", "view", "how is the site built?")
    package = json.loads(run(folder, "package", "compile", node, "--json"))
    shown = run(folder, "package", "show", package["id"])
    assert "1 is overruled by `prohibit docker`" in shown
    run(folder, "directive", "undo")
    assert "overruled" not in run(folder, "memory", "search", "how is the site built?")


def test_an_export_names_what_its_profile_cannot_say(folder: Path) -> None:
    run(folder, "directive", "step", "use vim")
    run(folder, "directive", "step", "I'm using MacBook", "--profile", "seed")

    both = [
        document(folder, "export", "kept.json", "--profile", profile)["left_out"]
        for profile in ("dialogue", "seed")
    ]

    assert both == [["focus.device: MacBook"], ["use vim"]]
