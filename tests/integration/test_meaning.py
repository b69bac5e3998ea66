"""Processes and executions are found by what somebody says about them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cortex.bus import Client, CortexError
from cortex.bus.events import (
    ExecutionFailed,
    ExecutionRated,
    ExecutionRequest,
    ExecutionStarted,
    ProcessCompiled,
    ProcessRetired,
    StepFailed,
)
from cortex.runtime.access.trust import give_trust
from cortex.runtime.executions.view import History, Hits, find_executions, find_processes
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.log import Blobs
from cortex.runtime.processes import TopicTable, compile_sources
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.registry import ActionSpec, Symbols

# name: (description, steps), and what somebody asks who does not know that text.
PROCESSES = {
    "rotate_secrets": (
        "Replace API keys and passwords that are older than ninety days",
        ("List credentials by age", "Issue new ones", "Revoke the old ones"),
    ),
    "publish_release": (
        "Tag a version, build the wheel and upload it to the package index",
        ("Check that the tests pass", "Build", "Upload to PyPI"),
    ),
    "triage_ci_failure": (
        "Name the failing test of a broken build, with the error and its proof",
        ("Read the log of the CI run", "Find the source it points at"),
    ),
    "onboard_colleague": (
        "Give a new colleague accounts, a laptop and a plan for the first week",
        ("Create accounts", "Order a laptop", "Invite to the team's meetings"),
    ),
    "weekly_report": (
        "Summarise what was merged this week and mail it to the team",
        ("Collect merged pull requests", "Write the summary", "Mail it"),
    ),
    "backup_database": (
        "Dump the database, encrypt the dump and copy it off site",
        ("Dump all tables", "Encrypt", "Copy to the other data centre"),
    ),
    "review_pull_request": (
        "Read a pull request, look for defects and comment on lines",
        ("Fetch the diff", "Look for defects", "Write comments"),
    ),
    "update_dependencies": (
        "Raise pinned packages to their newest releases and run the tests",
        ("List outdated packages", "Raise the pins", "Run the tests"),
    ),
    "answer_customer": (
        "Draft a reply to a customer's mail from earlier tickets",
        ("Find similar tickets", "Draft the reply", "Ask a person to approve it"),
    ),
    "restore_service": (
        "Roll the last deployment back and restart the service when health checks fail",
        ("Compare with the deployment before", "Roll back", "Restart and watch"),
    ),
    "translate_docs": (
        "Translate the manual into German and French and check its links",
        ("Translate each page of the documentation", "Check the links"),
    ),
    "close_month": (
        "Collect invoices, match them with payments and file the month's accounts",
        ("Collect invoices", "Match payments", "File with the bookkeeping"),
    ),
}
QUESTIONS = {
    "the process that changes expired credentials": "rotate_secrets",
    "put a new version on the Python package index": "publish_release",
    "the process that handles CI failures": "triage_ci_failure",
    "somebody joins us and needs a laptop": "onboard_colleague",
    "send everybody a summary of the last days": "weekly_report",
    "keep an encrypted copy of our data elsewhere": "backup_database",
    "comment on code that somebody wants to merge by a pull request": "review_pull_request",
    "upgrade packages that are outdated": "update_dependencies",
    "what do I reply to somebody who complains by mail": "answer_customer",
    "undo a bad deployment": "restore_service",
    "documentation in another language": "translate_docs",
    "which invoices were not paid": "close_month",
}
BY_WORDS = 10  # of the twelve questions that the default embedder has to put first


def source_of(name: str) -> str:
    description, steps = PROCESSES[name]
    listed = "".join(
        f"  - {{id: s{n}, action: work, description: {told}}}\n" for n, told in enumerate(steps)
    )
    return f"process: {name}\nversion: 1\ndescription: {description}\nsteps:\n{listed}"


def compiled(blobs: Blobs) -> list[ProcessCompiled]:
    sources = {f"{name}.yaml": source_of(name) for name in PROCESSES}
    registry = Symbols([ActionSpec(name="work", component="Worker")])
    found = compile_sources(sources, registry, TopicTable({}))
    assert not found.diagnostics
    return [
        ProcessCompiled(
            name=process.name,
            process_version=1,
            digest=process.digest,
            source_digest=process.source_digest,
            linked=blobs.put(msgspec.json.encode(process)),
            source=blobs.put(sources[f"{process.name}.yaml"].encode()),
            file=f"{process.name}.yaml",
        )
        for process in found.processes.values()
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = Home.create(tmp_path_factory.mktemp("meaning") / ".cortex")
    with Runtime(made, components=[]) as runtime:
        client = runtime.client("tester")
        client.publish(*compiled(runtime.blobs))
        client = runtime.client("ProcessExecutionEngine")  # as which an execution is spoken of
        fail(client, "aaaa", "tomlkit", "tests/test_parser.py found a stray comma")
        fail(client, "bbbb", "httpx", "the proxy did not answer in time")
        fail(client, "cccc", "rich", "a table was one column too wide")
    return made


def fail(client: Client, execution_id: str, project: str, error: str) -> None:
    begun = {"process": "triage_ci_failure", "inputs": {"project": project}, "goal": "triage"}
    client.publish(
        ExecutionRequest(execution_id=execution_id, **begun),  # type: ignore[arg-type]  # fields of any type
        ExecutionStarted(
            execution_id=execution_id,
            process_version=1,
            digest="",
            linked="",
            workspace="",
            trigger="",
            **begun,  # type: ignore[arg-type]  # fields of any type
        ),
        StepFailed(execution_id=execution_id, step_id="s0", error=error),
        ExecutionFailed(execution_id=execution_id, reason=error),
    )


@pytest.fixture
def history(home: Home) -> Iterator[History]:
    with History.open(home) as opened:
        yield opened


def keys(hits: Hits) -> list[str]:
    return [hit.key for hit in hits.hits]


def test_ten_of_twelve_processes_come_first_by_other_words(history: History) -> None:
    first = {asked: keys(find_processes(history, asked))[:1] for asked in QUESTIONS}

    right = [asked for asked, name in QUESTIONS.items() if first[asked] == [name]]
    assert len(right) >= BY_WORDS, {a: f for a, f in first.items() if a not in right}


def test_what_nothing_is_about_is_not_found(history: History) -> None:
    assert find_processes(history, "xyzzy").hits == ()
    assert find_executions(history, "xyzzy").hits == ()


def test_an_execution_is_found_by_what_it_failed_on(history: History) -> None:
    assert keys(find_executions(history, "the run that failed on tomlkit"))[0] == "aaaa"
    assert keys(find_executions(history, "a proxy that is silent"))[0] == "bbbb"
    assert keys(find_executions(history, "table too wide", 1)) == ["cccc"]


def test_what_was_read_once_is_not_read_again_until_the_folder_is_gone(home: Home) -> None:
    with History.open(home) as history:
        before = find_processes(history, "encrypted dump")
        event = Catalog(history).get("backup_database").event
    lost = home.blobs / event.linked[:2] / event.linked[2:]
    kept = lost.read_bytes()
    lost.unlink()
    try:
        with History.open(home) as history:
            again = find_processes(history, "encrypted dump")
            shutil.rmtree(home.path / "vectors")
            anew = find_processes(history, "encrypted dump")
    finally:
        lost.write_bytes(kept)
    with History.open(home) as history:
        rebuilt = find_processes(history, "encrypted dump")

    assert again == before
    assert "backup_database is found by its name alone" in anew.notes[0]
    assert keys(rebuilt) == keys(before)


def test_what_comes_later_is_found_and_what_is_retired_is_not(tmp_path: Path, home: Home) -> None:
    copy = tmp_path / ".cortex"
    shutil.copytree(home.path, copy)
    give_trust(copy, by="a test")
    mine = Home(copy)
    with History.open(mine) as history:
        assert keys(find_processes(history, "invoices"))[0] == "close_month"
        assert "aaaa" in keys(find_executions(history, "tomlkit"))
    with Runtime(mine, components=[]) as runtime:
        client = runtime.client("tester")
        client.publish(ProcessRetired(name="close_month", reason="done by hand", files=()))
        fail(runtime.client("ProcessExecutionEngine"), "dddd", "attrs", "a slot was given twice")
        client.publish(ExecutionRated(execution_id="aaaa", verdict="bad", note="a red herring"))

    with History.open(mine) as history:
        assert "close_month" not in keys(find_processes(history, "invoices"))
        assert keys(find_executions(history, "slot given twice"))[0] == "dddd"
        assert keys(find_executions(history, "red herring"))[0] == "aaaa"


def test_the_index_of_another_log_is_thrown_away(tmp_path: Path, home: Home) -> None:
    with History.open(home) as history:
        find_executions(history, "tomlkit")
    mine = Home.create(tmp_path / ".cortex")
    with Runtime(mine, components=[]) as runtime:
        fail(runtime.client("tester"), "eeee", "attrs", "a slot was given twice")
    shutil.copytree(home.path / "vectors", mine.path / "vectors", dirs_exist_ok=True)

    with History.open(mine) as history:
        found = find_executions(history, "the run that failed on tomlkit or on attrs")

    assert keys(found) == ["eeee"]


def test_a_blob_that_is_no_process_is_told_in_a_line(tmp_path: Path) -> None:
    mine = Home.create(tmp_path / ".cortex")
    with Runtime(mine, components=[]) as runtime:
        broken = msgspec.structs.replace(
            compiled(runtime.blobs)[0], linked=runtime.blobs.put(b"no json")
        )
        runtime.client("tester").publish(broken)

    with History.open(mine) as history, pytest.raises(CortexError, match="is not a linked process"):
        Catalog(history).process(broken.name)
