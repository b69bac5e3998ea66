"""`cortex log seal` and `segments`, beside a hub and without one; damage is one line."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog

from ..integration.archive_world import fill
from .command_lines import environment, run_many


class Folder:
    """A folder with a home whose log has so many events."""

    def __init__(self, folder: Path, events: int = 1_200) -> None:
        self.path, self.env = folder, environment(folder)
        self.done("init")
        self.home = Home(folder / ".cortex")
        with closing(EventLog.open(self.home.log_path)) as log:
            if events:
                fill(log, events)

    def call(self, *lines: str) -> list[tuple[int, str, str]]:
        return run_many(self.path, self.env, [line.split() for line in lines])

    def done(self, *lines: str) -> list[str]:
        ended = self.call(*lines)
        assert [code for code, _, _ in ended] == [0] * len(lines), ended
        return [out for _, out, _ in ended]

    def document(self, line: str) -> Any:
        return json.loads(self.done(f"{line} --json")[0])


def test_records_are_sealed_without_a_hub_and_listed(tmp_path: Path) -> None:
    folder = Folder(tmp_path)

    would, sealed, again = folder.done(
        "log seal --dry-run", "log seal --through 600", "log seal --through 600"
    )
    rows = folder.document("log segments")

    assert "would seal 1,024 events, after position 0" in would
    assert "sealed 512 events up to position 512" in sealed
    assert "nothing to seal: the archive ends at position 512" in again
    assert [(row["first"], row["last"], row["by"], row["state"]) for row in rows] == [
        (1, 512, "cortex log seal", "there")
    ]
    verified, checked = folder.done("audit verify", "doctor --quick")
    assert "all of it holds" in verified
    assert "512 events in 1 segment" in checked


def test_a_hub_that_is_up_seals_for_who_asks(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.done("up --background")
    try:
        document = folder.document("log seal")
        rows = folder.document("log segments")
        (query,) = folder.done("events query --topic log.segment_sealed -n 1")
    finally:
        folder.done("down")

    assert (document["segments"], document["through"]) == (1, 1_024)
    assert [(row["last"], row["by"], row["state"]) for row in rows] == [
        (1_024, "cortex log seal", "there")
    ]
    assert '"last":1024' in query
    assert "all of it holds" in folder.done("audit verify")[0]


def test_a_missing_file_of_the_archive_is_one_line_for_every_command(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.done("log seal")
    (file,) = (folder.home.path / "archive").iterdir()
    file.rename(folder.path / "away")

    ended = folder.call(
        "log segments", "audit verify", "events query", "doctor", "export -", "backup copy",
        "replay", "audit record 1 record", "log seal",
    )  # fmt: skip

    assert [code for code, _, _ in ended[:1]] == [4]
    for code, out, err in ended[1:-1]:
        assert code != 0
        assert "it is missing" in out + err or f"{file.name} is missing" in out + err
        assert "Traceback" not in out + err
    assert ended[-1][0] == 0  # there is nothing that could be sealed
    (folder.path / "away").rename(file)
    assert "all of it holds" in folder.done("audit verify")[0]


def test_every_command_shows_the_same_before_and_after_sealing(tmp_path: Path) -> None:
    folder = Folder(tmp_path, events=0)
    source = "process: greet\nversion: 1\nsteps:\n"
    for step in range(10):
        source += f"  - {{ id: say{step}, action: shell, with: {{ run: echo hello }} }}\n"
    (folder.home.processes / "greet.yaml").write_text(source)
    runs = folder.done(*["run greet --quiet -y --json"] * 8)
    one = json.loads(runs[0])["id"]
    with closing(EventLog.open(folder.home.log_path, readonly=True)) as log:
        head = log.head
        position = next(
            n for n, data in enumerate(log.read(0, head, 1 << 40), 1) if one.encode() in data
        )
    assert head > 300
    shown = (
        f"execution show {one} --json", f"trace {one} --json", f"replay {one} --json",
        "execution list --json -n 100", f"events query --execution {one} --json",
        "events query --topic step.completed --json", f"events query --caused-by {position} --json",
        f"events query --stream execution/{one} --json", f"export - --to {head}",
        f"execution list --at {position + 20} --json", f"diff {position} {position + 20} --json",
        "prompt list --json", "model list --json", "projections verify executions --json",
    )  # fmt: skip
    before = folder.call(*shown)
    assert all(code in {0, 1} for code, _, _ in before), before  # 1: a diff that has some

    sealed = folder.document("log seal")

    assert sealed["events"] >= 256
    assert position < sealed["through"]
    after = folder.call(*shown)
    for line, was, now in zip(shown, before, after, strict=True):
        assert now == was, line
    export, again = folder.path / "all.jsonl", folder.path / "again" / ".cortex"
    folder.done(f"export {export}", f"import {export} --home {again}")
    ended = folder.call("audit verify --json", f"audit verify --json --home {again}")
    ours, theirs = (json.loads(out) for _, out, _ in ended)
    assert ours["holds"]
    assert ours["root"] == theirs["root"]
