"""What leaves the machine: the prompt, to the endpoint of the model that was chosen."""

import getpass
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.library import library_sources
from cortex.actors.providers import AnthropicProvider, OpenAIProvider
from cortex.bus.events import (
    ContextCompiled,
    ContextRefused,
    ExecutionRequest,
    ModelInvoke,
    StepFailed,
)
from cortex.runtime.context import (
    parts_of,
    prompt_text,
    read_text,
)
from cortex.runtime.kernel import Home, Runtime

from ..servers import Answer, ScriptedAnthropic, ScriptedOpenAI
from ..staff_world import ANSWERING, World
from .repair_world import (
    KEY,
    KEY_ENV,
    PYTHON,
    SERVERS,
    SHAPES,
    Shape,
    checkout_of,
    diagnosis,
    model,
    patch,
    use,
)

STAFF = (*ANSWERING, AnthropicProvider, OpenAIProvider)
USER = "adalovelace"
# What a request may hold beside the prompt: how the answer is to be, and the model's name.
FIELDS = {
    "openai": {
        "messages",
        "model",
        "max_tokens",
        "response_format",
        "stream",
        "stream_options",
        "tools",
    },
    "anthropic": {"max_tokens", "messages", "model", "output_config", "stream", "system", "tools"},
}
HEADERS = {
    *("accept", "accept-encoding", "anthropic-version", "authorization", "connection"),
    *("content-length", "content-type", "host", "user-agent", "x-api-key"),
}
SECRET = """
process: keep_it_here
version: 1
description: Ask a model of this host
steps:
  - id: answer
    description: Say why the build is broken
    action: answer_question
    needs: { sensitivity: local, code: medium }
    retry: { attempts: 2 }
    with: { question: Why is the build broken? }
"""


def texts_of(shape: Shape, body: Any) -> tuple[str, str]:
    """What a request says as the system, and as the user."""
    if shape == "openai":
        said = {message["role"]: message["content"] for message in body["messages"]}
        return said["system"], said["user"]
    (system,) = body["system"]
    (user,) = body["messages"]
    said = user["content"]  # a block for each stretch that is kept, where there are several
    return system["text"], said if isinstance(said, str) else "".join(b["text"] for b in said)


def names_of(body: Any) -> list[str]:
    """The tools of a request."""
    return [tool.get("function", tool)["name"] for tool in body.get("tools", ())]


@pytest.mark.parametrize("shape", SHAPES)
def test_only_the_prompt_leaves_and_only_to_the_model_that_was_chosen(
    shape: Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"home-of-{USER}"
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("LOGNAME", USER)
    monkeypatch.setenv(KEY_ENV, KEY)
    checkout = checkout_of(PYTHON, folder)
    # As CI says it: the log's own paths are what the user hands over.
    log = (folder / "ci.log").read_text().replace(str(folder / "ci"), "/builds/shop")
    (folder / "ci.log").write_text(log)
    home = Home.create(checkout / ".cortex")
    other = SERVERS["anthropic" if shape == "openai" else "openai"]
    answers = (diagnosis(), patch(PYTHON.wrong), patch(PYTHON.fix))
    with SERVERS[shape](*answers) as chosen, other() as spared:
        use(home, model("chosen", chosen), model("spared", spared), default="chosen")
        with Runtime(home) as runtime:
            world = World(runtime)
            world.submit_files(library_sources())
            request = ExecutionRequest(
                execution_id=world.client.new_id(),
                process="fix_ci_failure",
                inputs={"log": str(folder / "ci.log")},
                workspace=str(checkout),
                goal="make main green",
                trigger=world.client.new_id(),
            )
            run = world.stopped(request.execution_id, world.client.publish(request))
            prompts = [prompt_text(world.blobs.get(e.prompt)) for e in run.all(ContextCompiled)]
            blobs = {event.prompt for event in run.all(ContextCompiled)}

    assert run.outcome == "completed", run.end
    assert spared.asked == []
    host, user = socket.gethostname(), getpass.getuser()
    ours = (request.execution_id, request.trigger, str(tmp_path), ".cortex", USER, user, host)
    assert len(chosen.asked) == len(prompts) == 3
    for asked, prompt in zip(chosen.asked, prompts, strict=True):
        parts = parts_of(read_text(prompt))
        assert texts_of(shape, asked.body) == (parts.system, parts.user)
        assert set(asked.body) <= FIELDS[shape]
        assert names_of(asked.body) == [tool["name"] for tool in parts.tools]
        assert set(asked.headers) <= HEADERS
        told = asked.raw.decode() + json.dumps(asked.headers)
        assert [word for word in (*ours, *blobs) if word in told] == []
        assert KEY not in asked.raw.decode()


def test_what_is_local_stays_here_where_only_a_remote_model_is_there(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, KEY)
    with ScriptedOpenAI() as remote:
        use(home, model("remote", remote, local=False, price_input=1.0), default="remote")
        with Runtime(home, components=STAFF) as runtime:
            world = World(runtime)
            world.compiled(SECRET)
            run = world.run("keep_it_here")

    assert run.outcome == "halted"
    assert "remote" in run.last(ContextRefused).reason
    assert "local" in run.last(ContextRefused).reason
    assert run.all(ModelInvoke) == []
    assert remote.asked == []


def test_what_is_local_stays_here_also_when_the_local_model_fails(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, KEY)
    refusing = Answer(status=401, error="authentication_error")
    with ScriptedOpenAI(default=refusing) as near, ScriptedAnthropic() as remote:
        far = model("remote", remote, local=False, price_input=1.0, price_output=1.0)
        use(home, model("near", near), far, default="remote")
        with Runtime(home, components=STAFF) as runtime:
            world = World(runtime)
            world.compiled(SECRET)
            run = world.run("keep_it_here")

    assert run.outcome == "halted"
    assert {event.model for event in run.all(ModelInvoke)} == {"near"}
    assert run.last(StepFailed).error.startswith("near: unauthorised: ")
    assert near.asked
    assert remote.asked == []
