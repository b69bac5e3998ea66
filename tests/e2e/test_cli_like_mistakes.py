"""Commands about an execution give like mistakes like exit codes."""

import json
from pathlib import Path

import pytest

from .command_lines import environment, run_many

PROCESS = """
process: look
version: 1
steps:
  - id: one
    action: read_text
    breakpoint: true
    with: { path: notes.txt }
  - id: two
    action: read_text
    with: { path: notes.txt }
"""
UNKNOWN_EXECUTION = (
    "what-if nobody", "what-if nobody --compare", "fork nobody --from one", "replay nobody",
    "debug nobody", "execution break nobody one",
)  # fmt: skip
UNKNOWN_STEP = (
    "what-if ID --plan --from tow", "what-if ID --plan --model tow=extractive",
    "fork ID --from tow", "fork ID --from one --break tow", "execution break ID tow",
    "execution break ID tow --remove", "run look --break tow",
)  # fmt: skip
UNKNOWN_FILE = ("what-if ID --plan --process none.yaml", "replay ID --process none.yaml")
UNKNOWN_POSITION = (
    "what-if ID --plan --from 999999", "replay ID --at 999999", "debug ID --at 999999",
)  # fmt: skip
WRONG_VALUE = (
    "what-if ID --plan --window many", "what-if ID --plan --section step=many",
    "what-if ID --plan --budget many", "what-if ID --plan --process .",
    "fork ID --from one --max-cost many", "replay ID --process .", "replay ID --at many",
    "debug ID --at many",
)  # fmt: skip
MISSING = ("what-if", "fork ID", "execution break ID", "what-if ID --nothing", "debug ID --nothing")


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (3, (*UNKNOWN_EXECUTION, *UNKNOWN_STEP, *UNKNOWN_FILE, *UNKNOWN_POSITION)),
        (2, (*WRONG_VALUE, *MISSING)),
    ],
)
def test_like_mistakes_have_like_exit_codes(
    tmp_path: Path, code: int, lines: tuple[str, ...]
) -> None:
    env = environment(tmp_path)
    (tmp_path / "notes.txt").write_text("Nothing.\n")
    run_many(tmp_path, env, [["init"]])
    (tmp_path / ".cortex" / "processes" / "look.yaml").write_text(PROCESS)
    begun = run_many(tmp_path, env, [["run", "look", "--quiet"], ["execution", "list", "--json"]])
    (paused,) = json.loads(begun[1][1])
    assert paused["status"] == "paused"

    calls = [line.replace("ID", paused["id"]).split() for line in lines]
    *ended, after = run_many(tmp_path, env, [*calls, ["execution", "list", "--json"]])

    codes = dict(zip(lines, (each[0] for each in ended), strict=True))
    assert codes == dict.fromkeys(lines, code)
    assert all(out == "" and err.count("\n") == 1 for _, out, err in ended), ended
    assert len(json.loads(after[1])) == 1
