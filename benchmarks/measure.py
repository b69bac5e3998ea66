"""What benchmarks share: programs measured in processes of their own, in turn, by their medians.

A program prints its figures as one line of JSON. A peer runs in a virtual environment of its own,
made where it is not there; one that cannot be installed is skipped, and its line says so.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

Figures = dict[str, float]
Ratios = dict[str, float]  # by name: how many times the bare limit's speed ours is, in one run
Run = Callable[[], Figures]


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options that every benchmark of this kind has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--peers",
        type=Path,
        default=Path(os.environ.get("CORTEX_PEERS", Path(tempfile.gettempdir()) / "cortex-peers")),
        help="folder of the peers' virtual environments; they are made where they are missing",
    )
    parser.add_argument("--only", default="", help="measure what has this in its name")
    return parser


def peer(folder: Path, name: str, *packages: str) -> str | None:
    """A Python that has *packages*; None where they cannot be installed."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        try:
            venv.create(folder / name, with_pip=True)
            install = [str(python), "-m", "pip", "install", "--quiet", *packages]
            subprocess.run(install, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"skipped: {name} cannot be installed: {error}", file=sys.stderr)
            python.unlink(missing_ok=True)
            return None
    return str(python)


def run(python: str, *command: str) -> Figures:
    """What a program prints in its last line; its errors are ours."""
    done = subprocess.run([python, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def in_turn(rounds: int, runs: Mapping[str, Run]) -> dict[str, Figures]:
    """Each of *runs* once a round; medians, by name and figure."""
    found: dict[str, list[Figures]] = {name: [] for name in runs}
    for number in range(rounds):
        for name, measure in runs.items():
            print(f"round {number + 1} of {rounds}: {name} ...", file=sys.stderr, flush=True)
            found[name].append(measure())
    return {
        name: {key: statistics.median(figures[key] for figures in many) for key in many[0]}
        for name, many in found.items()
    }


def ratio(ours: Callable[[], float], limit: Callable[[], float], rounds: int = 3) -> float:
    """Ours over the bare limit, both a speed: the median of some rounds, each in turn."""
    return statistics.median(ours() / limit() for _ in range(rounds))


def speed(work: Callable[[], object]) -> float:
    """How often a second *work* could be done."""
    began = time.perf_counter()
    work()
    return 1 / (time.perf_counter() - began)


def quickly(quick: Callable[[], Ratios]) -> None:
    """Asked for `--quick`, print the ratios to the bare limit that a short run has, and end."""
    if sys.argv[1:] == ["--quick"]:
        print(json.dumps(quick()))
        sys.exit()


def report(figures: Figures) -> None:
    """Print *figures*, and how much memory this process took, for `run` to read."""
    print(json.dumps({**figures, "rss_mb": rss_mb()}), flush=True)


def rss_mb(pid: int | str = "self") -> float:
    """The most memory that a process had, this one by default; 0 where it has ended."""
    found = Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()
    return int(found[0]) / 1024 if found else 0.0


def percentiles(took_s: Sequence[float]) -> Figures:
    """Median and 99th percentile, in microseconds."""
    return {
        "p50_us": statistics.median(took_s) * 1e6,
        "p99_us": statistics.quantiles(took_s, n=100)[98] * 1e6,
    }


def heading(rounds: int) -> str:
    """When, of what, on what, and how busy it was, for the first line of a record."""
    return f"{stamp()}, SQLite {sqlite3.sqlite_version}; medians of {rounds} rounds, each in turn"


def stamp() -> str:
    """The day, the commit (with a + where files differ from it), the machine, its load, Python."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit()}, {os.cpu_count()} cores, {gib:.0f} GiB, "
        f"load {os.getloadavg()[0]:.1f}; Python {sys.version.split()[0]}"
    )


def commit() -> str:
    """The commit of this checkout; "unknown" outside of one."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        name = subprocess.run(
            [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no", ":/", ":!results"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}{'+' if changed else ''}"


def keep(lines: Iterable[str], result: Path) -> None:
    """Print *lines* as they come, and leave them in *result*."""
    kept: list[str] = []
    for line in lines:
        print(line, flush=True)
        kept.append(line)
    result.write_text("\n".join(kept) + "\n")
