"""`cortex projections` shows how far the read models are, checks them, and builds them anew."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.admin import projection_rows, rebuild_projections, verified_projections
from cortex.runtime.executions import PROJECTIONS
from cortex.runtime.kernel import Home
from cortex.runtime.projections import Runner

from .command_lines import environment, run_many


class Ran:
    """A home in which one execution ran."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.env = folder, environment(folder)
        self.home = Home(folder / ".cortex")
        self.call("init")
        (self.home.processes / "greet.yaml").write_text(
            "process: greet\nversion: 1\nsteps:\n  - id: say\n    action: shell\n"
            "    with: {run: echo hello}\n"
        )
        assert self.call("run greet --quiet -y")[0] == 0

    def call(self, line: str) -> tuple[int, str, str]:
        ((code, out, err),) = run_many(self.folder, self.env, [line.split()])
        return code, out, err

    def document(self, line: str, code: int = 0) -> Any:
        ended, out, err = self.call(f"{line} --json")
        assert ended == code, out + err
        return json.loads(out)

    def change(self, statement: str) -> None:
        with closing(sqlite3.connect(self.home.projections_path)) as connection, connection:
            connection.execute(statement)


@pytest.fixture
def ran(tmp_path: Path) -> Ran:
    return Ran(tmp_path)


def test_a_changed_table_is_found_and_built_anew(ran: Ran) -> None:
    rows = {row["name"]: row for row in ran.document("projections list")}
    assert rows.keys() == {projection.name for projection in PROJECTIONS}
    # The end of the runtime itself comes after they caught up for the last time.
    assert all(0 < row["head"] - 3 <= row["position"] <= row["head"] for row in rows.values())
    assert rows["executions"]["rows"] >= 1
    assert rows["executions"]["size_bytes"] is None or rows["executions"]["size_bytes"] > 0
    assert ran.call("projections verify")[0] == 0

    ran.change("update executions set status = 'failed'")

    assert [each["name"] for each in ran.document("projections verify executions", 1)] == [
        "executions"
    ]
    code, out, _ = ran.call("projections verify")
    assert (code, "executions" in out, "cortex projections rebuild" in out) == (1, True, True)
    assert ran.document("projections rebuild executions")["rebuilt"] == ["executions"]
    assert ran.call("projections verify")[0] == 0
    assert ran.call("projections rebuild")[:2] == (
        0,
        f"rebuilt {', '.join(sorted(rows))} from {rows['executions']['head']} events\n",
    )


def test_tables_of_another_version_are_said_to_be_built_at_the_next_start(ran: Ran) -> None:
    ran.change("update checkpoints set version = 3 where name = 'executions'")
    before = ran.call("projections list")[1]
    compared = ran.call("projections verify executions")

    ran.call("run greet --quiet -y")

    assert "version 4 at the next start" in before
    assert compared[0] == 0
    assert "made by another version" in compared[1]
    rows = {row.name: row for row in projection_rows(ran.home)}
    assert rows["executions"].version == 4
    assert rows["executions"].state in ("current", "1 event behind", "2 events behind")


def test_a_file_that_was_deleted_is_listed_as_missing_and_made(ran: Ran) -> None:
    for path in ran.folder.glob(".cortex/projections.db*"):
        path.unlink()

    states = {row.state for row in projection_rows(ran.home)}
    nothing = ran.call("projections verify")

    assert states == {"missing"}
    assert nothing[:2] == (0, "nothing was projected yet\n")
    assert ran.call("projections rebuild")[0] == 0
    assert not any(each.differs for each in verified_projections(ran.home))


def test_what_cannot_be_done_is_said_in_one_line(ran: Ran, tmp_path: Path) -> None:
    for line in ("projections rebuild nonesuch", "projections verify nonesuch"):
        code, out, err = ran.call(line)
        assert (code, out, err.count("\n")) == (3, "", 1)
        assert "there are event_index, executions, metrics" in err
    runner = Runner.open(ran.home.projections_path, PROJECTIONS)
    code, out, err = ran.call("projections rebuild")
    runner.close()
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "keeps the projections up to date: end it (`cortex down` ends a hub)" in err
    (ran.home.projections_path).write_bytes(b"not a database at all" * 500)
    for line in ("projections list", "projections verify"):
        code, out, err = ran.call(line)
        assert (code, out, err.count("\n")) == (4, "", 1)
    assert ran.call("projections rebuild")[0] == 0
    assert ran.call("projections verify")[0] == 0


def test_a_home_without_events_has_nothing_to_project(tmp_path: Path) -> None:
    home = Home(tmp_path / ".cortex")
    assert run_many(tmp_path, environment(tmp_path), [["init"]])[0][0] == 0

    assert verified_projections(home) == []
    assert {row.state for row in projection_rows(home)} == {"missing"}
    assert rebuild_projections(home).rebuilt == [] or projection_rows(home)[0].head > 0
