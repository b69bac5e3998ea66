"""Decorated functions in every place where components run: in a home, in a process, by name."""

import os
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Event
from cortex.bus.events import ComponentFailed, StepCompleted, StepExecute
from cortex.runtime.kernel import Entry, Home, ManifestError, Runtime, load

RULES = '''
import os
from typing import Any

import cortex
from cortex.events import StepCompleted


class Asked(cortex.Struct):
    path: cortex.Path


@cortex.action("far_words", effect="read", cpu=True)
def far_words(asked: Asked, step: cortex.Step, *, blobs, settings) -> dict[str, Any]:
    """Count the words in a process of its own."""
    words = len(asked.path.read_text().split())
    return {"words": words, "pid": os.getpid(), "digest": blobs.put(b"x"), **settings}


@cortex.action("fall", effect="none")
def fall() -> None:
    """Fall."""
    raise ZeroDivisionError("by zero")


def undecorated() -> None:
    """Nothing."""
'''


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "hosted_rules.py").write_text(RULES)
    (tmp_path / "notes.txt").write_text("one two three")
    return Home.create(tmp_path / ".cortex")


def answer(runtime: Runtime, kind: type[Event], **asked: Any) -> Any:
    with runtime.client("test") as client:
        answers = client.follow(kind, quiet_s=60)
        client.publish(StepExecute(execution_id="e1", step_id="s1", **asked))
        return next(iter(answers))


def test_a_function_runs_in_a_process_of_its_own_with_its_ports(home: Home) -> None:
    far = Entry("hosted_rules:far_words", settings={"mark": "set"})
    with Runtime(home, components=[far]) as runtime:
        done = answer(
            runtime,
            StepCompleted,
            action="far_words",
            parameters={"path": "notes.txt"},
            workspace=str(home.path.parent),
        )
        kept = runtime.blobs.get(done.result["value"]["digest"])

    assert done.result["value"]["words"] == 3
    assert done.result["value"]["mark"] == "set"
    assert done.result["value"]["pid"] != os.getpid()
    assert kept == b"x"


def test_a_function_is_added_and_removed_while_a_runtime_runs(home: Home) -> None:
    with Runtime(home, components=[]) as runtime:
        runtime.add("hosted_rules:far_words")
        with runtime.client("test") as client:
            announced = [r.topic for r in client.read() if r.topic.startswith("component.")]
            runtime.remove("FarWords")
            withdrawn = [r.topic for r in client.read() if r.topic.startswith("component.")]

    assert announced == ["component.announced"]
    assert withdrawn == ["component.announced", "component.withdrawn"]


def test_the_traceback_of_a_defect_begins_in_the_function(home: Home) -> None:
    with Runtime(home, components=["hosted_rules:fall"]) as runtime:
        failed = answer(runtime, ComponentFailed, action="fall")
        trace = runtime.blobs.get(failed.trace).decode()

    assert failed.reason == "ZeroDivisionError: by zero"
    first = trace.splitlines()[1]
    assert "hosted_rules.py" in first, trace


def test_a_function_without_a_decorator_is_no_component(home: Home) -> None:
    with pytest.raises(ManifestError) as raised:
        load("hosted_rules:undecorated")

    assert str(raised.value) == (
        "component hosted_rules:undecorated: is not a subclass of Component, nor a function with "
        "a decorator of cortex; name one of fall, far_words"
    )
