"""What decides whether a benchmark has become slow, and who may say that it is to be slower."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(
    not BENCHMARKS.is_dir(), reason="benchmarks/ is not beside these tests"
)


@pytest.fixture(scope="module")
def checker() -> Any:
    spec = importlib.util.spec_from_file_location("bench_check", BENCHMARKS / "bench_check.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["bench_check"] = made  # msgspec looks its annotations up there
    spec.loader.exec_module(made)
    return made


def entry(checker: Any, ratio: float, **rest: Any) -> Any:
    return checker.Recorded(ratio=ratio, date="2026-01-01", **rest)


def test_what_fell_below_half_of_what_is_recorded_has_fallen(checker: Any) -> None:
    recorded = {"a": entry(checker, 1.0), "b": entry(checker, 1.0)}

    assert checker.fallen({"a": 0.51, "b": 0.49, "new": 0.01}, recorded) == ["b"]


def test_a_run_that_fell_is_measured_once_more_and_the_better_one_counts(
    checker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [{"a": 0.1, "b": 0.9}, {"a": 0.8, "b": 0.7}]
    monkeypatch.setattr(checker, "measured", lambda _: runs.pop(0))

    found = checker.check("x", {"a": entry(checker, 1.0), "b": entry(checker, 1.0)})

    assert found == {"a": 0.8, "b": 0.9}
    assert runs == []


def test_nothing_is_lowered_without_a_reason_for_just_that(checker: Any) -> None:
    old = {"a": entry(checker, 1.0)}

    def said(**new: Any) -> list[str]:
        found: list[str] = checker.unexplained(old, new)
        return found

    assert said(a=entry(checker, 1.2)) == []
    assert said(a=entry(checker, 0.8, before=1.0, reason="it is checked now")) == []
    assert "does not say why" in said(a=entry(checker, 0.8))[0]
    # The reason of an earlier time is none for this one.
    assert "does not say why" in said(a=entry(checker, 0.8, before=0.9, reason="it was checked"))[0]
    assert "is gone" in said()[0]


@pytest.mark.parametrize(
    "text",
    [
        '["a"]\nratio = 0.0\ndate = "2026-01-01"',
        '["a"]\nratio = 0.5\ndate = "2026-01-01"\nbefore = 1.0',
        '["a"]\nratio = 0.5\ndate = "2026-01-01"\nreason = "slower"',
        '["a"]\nratio = 0.5\ndate = "2026-01-01"\nbefore = 0.4\nreason = "slower"',
        '["a"]\nratio = 0.5\ndate = "2026-01-01"\nwhy = "slower"',
    ],
)
def test_a_file_that_does_not_say_what_it_has_to_is_refused(checker: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"a |`why`"):
        checker.read(text)


def test_what_is_written_is_what_is_read(checker: Any) -> None:
    recorded = {"x: a": entry(checker, 0.5, before=0.75, reason='it says "why"')}

    assert checker.read(checker.written(recorded)) == recorded


def test_only_what_has_become_better_is_recorded(checker: Any) -> None:
    recorded = {"a": entry(checker, 1.0), "b": entry(checker, 1.0)}

    new = checker.raised({"a": 1.5, "b": 0.6, "c": 0.2}, recorded)

    assert {name: each.ratio for name, each in new.items()} == {"a": 1.5, "b": 1.0, "c": 0.2}


def test_each_benchmark_with_a_bare_limit_is_checked(checker: Any) -> None:
    table = (BENCHMARKS / "README.md").read_text()
    rows = re.findall(r"^\| `bench_(\w+)\.py` \|.*\| ([^|]*) \|$", table, re.MULTILINE)
    limited = {name for name, limit in rows if limit.strip()}
    recorded = checker.read(checker.RECORDED.read_text())

    assert set(checker.NAMES) == limited
    assert {name.partition(":")[0] for name in recorded} == limited


def test_a_benchmark_measures_the_rooms_that_it_imports(checker: Any) -> None:
    source = (
        "from cortex.bus import Client\nfrom cortex.runtime.kernel import Home\n"
        "import cortex.runtime.log\nfrom cortex.bus.events import (\n    StepCompleted,\n)\n"
    )

    assert checker.rooms_of(source) == {"bus", "bus/events", "runtime/kernel", "runtime/log"}


def test_a_record_without_a_commit_or_of_one_that_is_gone_is_stale(
    checker: Any, tmp_path: Path
) -> None:
    record = tmp_path / "bench_bus.txt"

    record.write_text("2026-01-01, 2 cores\n")
    assert checker.stale(record) == "names no commit"
    record.write_text(f"2026-01-01, commit {'0' * 12}, 2 cores\n")
    assert checker.stale(record) == f"names the commit {'0' * 12}, which is not here"


@pytest.mark.skipif(not (BENCHMARKS.parent / ".git").exists(), reason="this is no checkout")
def test_a_record_of_the_newest_commit_is_up_to_date(checker: Any, tmp_path: Path) -> None:
    record = tmp_path / "bench_bus.txt"
    head = subprocess.run(
        ["git", "-C", str(BENCHMARKS), "rev-parse", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()

    record.write_text(f"2026-01-01, commit {head}, 2 cores\n")
    assert checker.stale(record) == ""
    record.write_text(f"2026-01-01, commit {head}+, 2 cores\n")
    assert checker.stale(record) == "was made with files that are in no commit"
