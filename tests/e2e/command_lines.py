"""Many command lines in a folder with a home, run by one process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

CORTEX = Path(sys.executable).parent / "cortex"
# One process for many: most of the time that a command line takes goes into its imports.
MANY = """
import contextlib, io, json, sys
from cortex.runtime.cli import main
ended = []
for args in json.loads(sys.argv[1]):
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(args)
    for each in (out, err):
        each.flush()
    ended.append([code, *(each.buffer.getvalue().decode() for each in (out, err))])
print(json.dumps(ended))
"""


def environment(folder: Path, **more: str) -> dict[str, str]:
    """That of a user who has nothing of Cortex set, and keeps their data below *folder*."""
    env = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), **more}
    for name in ("CORTEX_HOME", "CORTEX_DEBUG", "NO_COLOR"):
        env.pop(name, None)
    return env


def run_many(
    folder: Path, env: dict[str, str], calls: Iterable[Sequence[str]]
) -> list[tuple[int, str, str]]:
    """Exit code, standard output and standard error of each of *calls*, one after the other."""
    done = subprocess.run(
        [sys.executable, "-c", MANY, json.dumps([list(call) for call in calls])],
        cwd=folder, env=env, capture_output=True, text=True, timeout=300,
        check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]
