"""Does a failure lead to the code that has to change, and how long does that take?

*real* asks about failures of real projects: for each, a release was broken and the next one of its
line has a test that shows it. The checkout holds the broken sources and that test, the question is
what pytest printed, and right is what the fix changed: a file of it, or, stricter, a function of it
or a line near another changed line, among the first place, the first three and the first five. Both
releases come from the package index (`real_failures.toml` names them, `draw_real_failures.py` tells
how they were drawn); where it cannot be reached, this part is left out. Half of the projects are
*visible*: their misses may be looked at (`--misses`), and rules tuned on them. The others are
*unseen*: they are scored, and nothing else. Beside ours are the first `path:line` of the log, its
last frame outside of tests, BM25, and chance.

*times* are those of a generated git checkout of 5,000 files, many of one name. The bare limits are
git's own listing and one read of every file. Stack traces of that checkout are easy, and what is
right there says only that what is timed works.
"""

import argparse
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from failure_scores import misses, real
from measure import Ratios, arguments, keep, quickly, stamp
from real_failures import Shelf

from cortex.runtime.code.source import Checkout, find_relevant_code, parse_frames

RESULT = Path(__file__).parent / "results" / "bench_relevant_code.txt"
FILES = 5_000
PROBES = 200
_FIRST = re.compile(r"(?P<path>[\w@.~+/\\-]+\.\w+)(?::(?:line )?|\(|\", line )(?P<line>\d+)")

Answer = tuple[str, int] | None


def ours(log: str, checkout: Checkout) -> Answer:
    """Ask the library."""
    found = find_relevant_code(log, checkout, limit=1)
    return (found[0].path, found[0].line) if found else None


def naive(log: str, checkout: Checkout) -> Answer:
    """Take the first path:line whose path fits exactly one file."""
    for match in _FIRST.finditer(log):
        files = [path for path in checkout.files if match["path"].endswith(path)]
        files = files or [path for path in checkout.files if path.endswith("/" + match["path"])]
        if len(files) == 1:
            return files[0], int(match["line"])
    return None


def git_listing(root: Path) -> None:
    """The listing by git of the files of a checkout."""
    listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others"]
    listing += ["--exclude-standard"]
    subprocess.run(listing, capture_output=True, check=True)


def read_all(checkout: Checkout) -> None:
    """Read every file of a checkout once."""
    for path in checkout.files:
        (checkout.root / path).read_bytes()


def make_checkout(
    root: Path, dice: random.Random, files: int = FILES
) -> list[tuple[str, int, str]]:
    """Write modules, a hundred names in many folders, and return some (path, line, name)."""
    names = [f"{noun}.py" for noun in ("utils", "models", "views", "api", *map(str, range(96)))]
    places = []
    for index in range(files // 5):
        folder = root / f"pkg{index // 100}" / f"part{index // 20 % 5}" / f"m{index % 20}"
        folder.mkdir(parents=True)
        for name in dice.sample(names, 5):
            functions = [f"f{dice.randrange(400)}" for _ in range(30)]
            (folder / name).write_text("".join(map(_function, range(30), functions)))
            chosen = dice.randrange(30)
            path = (folder / name).relative_to(root).as_posix()
            places.append((path, chosen * 4 + 2, functions[chosen]))
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "add", "-A"], check=True)
    return dice.sample(places, PROBES)


def _function(number: int, name: str) -> str:
    return f"def {name}(x):\n    y = x * {number}\n    return y\n\n"


def trace_of(places: list[tuple[str, int, str]]) -> str:
    """Return a traceback through *places*, their paths as a container would log them."""
    frames = [f'  File "/builds/acme/{path}", line {line}, in {f}' for path, line, f in places]
    return "\n".join(["Traceback (most recent call last):", *frames, "ValueError: oh no"])


def timed(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the best of some rounds in milliseconds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best * 1000


def large() -> Iterator[str]:
    """The times on the generated checkout."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        places = make_checkout(root, random.Random(7))
        git_ms = timed(lambda: git_listing(root))
        open_ms = timed(lambda: Checkout(root))
        size_mb = sum(file.stat().st_size for file in root.rglob("*.py")) / 1e6
        yield f"times    {FILES} files, {size_mb:.1f} MB"
        times = f"ours {open_ms:.1f} ms, limit (git) {git_ms:.1f} ms"
        yield f"list     {times}, x{open_ms / git_ms:.1f}"
        checkout = Checkout(root)
        yield from time_traces(places, checkout)
        yield time_symbols(places[0][2], checkout)


def time_traces(places: list[tuple[str, int, str]], checkout: Checkout) -> Iterator[str]:
    """Right answers and times of questions with a stack trace."""
    logs = [trace_of(places[i : i + 4]) for i in range(0, PROBES, 4)]
    wanted = [places[i + 3][:2] for i in range(0, PROBES, 4)]
    for name, way in (("ours", ours), ("naive", naive)):
        began = time.perf_counter()
        answers = [way(log, checkout) for log in logs]
        spent_ms = (time.perf_counter() - began) * 1000 / len(logs)
        right = sum(answer == want for answer, want in zip(answers, wanted, strict=True))
        yield f"traces   {name:<5} {right}/{len(logs)} right, {spent_ms:.2f} ms a trace"
    lines = "\n".join(logs).splitlines() * 500
    parse_ms = timed(lambda: parse_frames(lines), 1)
    noise = [f"2024 INFO worker {i} did item {i}" for i in range(100_000)]
    noise_ms = timed(lambda: parse_frames(noise), 1)
    yield (
        f"parse    {len(lines) / parse_ms * 1000:,.0f} trace lines/s, "
        f"{len(noise) / noise_ms * 1000:,.0f} other lines/s"
    )


def time_symbols(symbol: str, checkout: Checkout) -> str:
    """The times of a question that names a symbol only, so that every file is searched."""
    log = f"NameError: name '{symbol}' is not defined"
    cold_ms = timed(lambda: find_relevant_code(log, Checkout(checkout.root)))
    warm_ms = timed(lambda: find_relevant_code(log, checkout))
    read_ms = timed(lambda: read_all(checkout))
    return (
        f"symbol   ours {warm_ms:.1f} ms ({cold_ms:.1f} ms with listing), "
        f"limit (read every file) {read_ms:.1f} ms, x{warm_ms / read_ms:.1f}"
    )


def quick() -> Ratios:
    """A smaller checkout listed and searched, to git's listing and one read of each file."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        places = make_checkout(root, random.Random(7), 1_000)
        checkout = Checkout(root)
        log = f"NameError: name '{places[0][2]}' is not defined"
        return {
            "list": timed(lambda: git_listing(root)) / timed(lambda: Checkout(root)),
            "search": timed(lambda: read_all(checkout))
            / timed(lambda: find_relevant_code(log, checkout)),
        }


def main() -> None:
    """Print and record what the docstring says, or print the misses of the visible failures."""
    quickly(quick)
    parser = arguments(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--misses", action="store_true", help="of the visible failures; no record")
    given = parser.parse_args()
    shelf = Shelf(given.peers)
    if given.misses:
        for line in misses(shelf):
            print(line)
        return
    keep(lines(shelf), RESULT)


def lines(shelf: Shelf) -> Iterator[str]:
    """The result, as it comes."""
    yield stamp()
    yield from real(shelf)
    yield from large()


if __name__ == "__main__":
    main()
