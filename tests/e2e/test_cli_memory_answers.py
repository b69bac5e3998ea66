"""`cortex memory`, as a user types it: answers by several memories, and consolidations."""

import json
from pathlib import Path

from .test_cli_bad_input import cortex

ASKED = "What is the birthplace of the founder of Vikuri Group?"


def done(folder: Path, *args: str) -> str:
    ended = cortex(folder, *args)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_memory_answers_by_several_memories_and_takes_a_consolidation_back(tmp_path: Path) -> None:
    done(tmp_path, "init")
    for text in (
        "The founder of Vikuri Group is Tugoth Ruku.",
        "The birthplace of Tugoth Ruku is Diberal.",
    ):
        done(tmp_path, "memory", "record", "observation", text)

    shown = done(tmp_path, "memory", "search", ASKED)
    found = json.loads(done(tmp_path, "memory", "search", ASKED, "--json"))
    unsure = json.loads(done(tmp_path, "memory", "search", "who founded Oslo?", "--json"))

    assert "Diberal  (0.85), by way of\n" in shown
    assert "Vikuri Group -> Tugoth Ruku (founder)" in shown
    assert found["chain"]["answer"] == "Diberal"
    assert [fact["leads_to"] for fact in found["chain"]["facts"]] == ["Tugoth Ruku", "Diberal"]
    assert unsure["chain"] is None

    for word in ("today", "again", "anew"):
        text = f"The build of the shop failed in the linter {word}"
        done(tmp_path, "memory", "record", "observation", text, "--no-update")
    written = json.loads(done(tmp_path, "memory", "consolidate", "--json"))
    assert len(written["wrote"]) == 1
    assert "Said 3 times: The build of the shop" in done(tmp_path, "memory", "list")
    assert "undone: 1 memory left memory" in done(tmp_path, "memory", "undo", written["id"])


def test_a_summary_is_reworded_from_a_file_and_a_bad_draft_is_one_line(tmp_path: Path) -> None:
    done(tmp_path, "init")
    places = ("Oslo", "Rome", "Lima", "Cairo", "Quito", "Accra", "Hanoi", "Dakar")
    before: list[str] = []
    for n, place in enumerate(places):
        text = (
            f"In week {n} the load balancer of the {place} cluster dropped {n * 37 + 5} calls "
            f"because rule {n + 11} was copied by hand from an older release of {place} and "
            "nobody of the platform team had looked at it."
        )
        recorded = done(tmp_path, "memory", "record", "decision", text, "--no-update", *before)
        before = ["--caused-by", recorded.split()[1]]
    written = json.loads(done(tmp_path, "memory", "consolidate", "--json"))
    (summary,) = written["wrote"]
    found = json.loads(done(tmp_path, "memory", "list", "--json"))["memories"]
    (said,) = [row["content"] for row in found if row["id"] == summary]
    draft = said.partition(": ")[2].replace(" the load balancer of the ", " load balancer of ")
    (tmp_path / "draft.txt").write_text(draft)
    (tmp_path / "wrong.txt").write_bytes(b"\xff\xfe")

    reworded = done(tmp_path, "memory", "reword", summary, "--draft", "draft.txt")
    refused = cortex(tmp_path, "memory", "reword", summary, "--draft", "wrong.txt")

    assert reworded.endswith(f"wrote {reworded.split()[-1]}\n")
    assert " load balancer of Rome cluster" in done(tmp_path, "memory", "list", "--limit", "1")
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "the draft is not UTF-8 at byte 1" in refused.stderr


def test_a_budget_beyond_what_a_consolidation_reads_is_refused(tmp_path: Path) -> None:
    done(tmp_path, "init")

    refused = cortex(tmp_path, "memory", "consolidate", "--most", "5001")

    assert refused.returncode == 2
    assert "5001 is not in the range 1<=x<=5000" in refused.stderr
