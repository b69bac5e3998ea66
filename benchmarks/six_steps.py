"""A process of six steps, each of which needs one thing from the documentation of this project.

Each prompt is sent by the provider for OpenAI's protocol to a server on loopback that records what
it receives. So is what carries everything, by bare HTTP. Tokens are those of the messages that the
server got, and of what frames them: what an endpoint would bill.
"""

import json
import sys
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from cortex.actors.providers import OpenAIProvider
from cortex.bus.events import ModelResponded
from cortex.runtime.context import (
    ContextCompiler,
    Item,
    Prompt,
    PromptStep,
    Request,
    TokenCounter,
)

sys.path.append(str(Path(__file__).parents[1]))  # the scripted endpoint is one of the tests

from tests.servers import Asking, ScriptedOpenAI, config_for

DOCS: Final = Path(__file__).parents[1] / "docs"
WINDOW: Final = 3_200  # V_e of each step
COUNTER: Final = TokenCounter()
COMPILER: Final = ContextCompiler(COUNTER)
MESSAGE_TOKENS: Final = 5  # that frame a message
ANSWER_TOKENS: Final = 3  # that open the answer


class Need(NamedTuple):
    """One step: what it is to do, the page it names, and what it has to read there."""

    step: str
    asks: str
    topic: str
    must_read: str


NEEDS: Final = (
    Need(
        "read_ci_log",
        "Which exit code does a command end with when what was named is not there?",
        "cli",
        "## Exit codes",
    ),
    Need(
        "locate_source",
        "Which folders does a topic of knowledge come from, the narrowest scope first?",
        "context",
        "narrowest first",
    ),
    Need(
        "diagnose",
        "What does it mean that a key in a process is given twice, and what is to be done?",
        "diagnostics",
        "### P009: duplicate key",
    ),
    Need(
        "implement_fix",
        "How is a step of a process retried, with attempts and backoff?",
        "process-language",
        "max_backoff_s: 60",
    ),
    Need(
        "run_tests",
        "What does the gate tests_pass run, and when does it pass?",
        "handlers-and-gates",
        "### `tests_pass`",
    ),
    Need(
        "commit",
        "On which branch is the commit made, and from which commit does the worktree start?",
        "repair",
        "on the branch `cortex/<execution>`",
    ),
)


def pages() -> dict[str, str]:
    """All pages of the documentation, by topic; each holds what its step has to read."""
    texts = {path.stem: path.read_text() for path in sorted(DOCS.glob("*.md"))}
    gone = [need.step for need in NEEDS if need.must_read not in texts[need.topic]]
    if gone:
        sys.exit(f"the pages have other words by now: mend must_read of {', '.join(gone)}")
    return texts


def prompts(texts: dict[str, str]) -> list[Prompt]:
    """One prompt a step, from the page that it names alone."""
    return [
        COMPILER.compile(
            Request(
                step=PromptStep(process="fix_ci_failure", id=need.step, description=need.asks),
                window=200_000,
                effective_window=WINDOW,
                items=(
                    Item(
                        id=need.topic,
                        section="knowledge",
                        kind="knowledge",
                        text=texts[need.topic],
                        trust="trusted",
                    ),
                ),
            )
        )
        for need in NEEDS
    ]


class Received(NamedTuple):
    """One request, as the server got it."""

    text: str  # of all messages
    tokens: int  # of the messages, what they call and what frames them


def received(made: Sequence[Prompt]) -> list[Received]:
    """What the server gets of *made*, one request a prompt."""
    with ScriptedOpenAI() as server:
        asking = Asking(OpenAIProvider, config_for("openai", server.base_url))
        said = asking.ask(*(asking.invoke(prompt.encoded.decode()) for prompt in made))
        if sum(isinstance(each, ModelResponded) for each in said) != len(made):
            sys.exit(f"not every prompt was answered: {said}")
        return [_received(asked.body) for asked in server.asked]


def received_plain(texts: Iterable[str]) -> Received:
    """What the server gets of *texts* in one message, without Cortex."""
    message = {"role": "user", "content": "\n\n".join(texts)}
    body = json.dumps({"model": "m", "stream": True, "messages": [message]}).encode()
    with ScriptedOpenAI() as server:
        to = f"{server.base_url}/chat/completions"
        urllib.request.urlopen(urllib.request.Request(to, body)).read()
        return _received(server.asked[0].body)


def _received(body: dict[str, Any]) -> Received:
    parts = [_text(message) for message in body["messages"]]
    parts += [json.dumps(tool) for tool in body.get("tools", ())]
    framed = MESSAGE_TOKENS * len(body["messages"]) + ANSWER_TOKENS
    return Received("\n".join(parts), sum(map(COUNTER.count, parts)) + framed)


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    if not isinstance(content, str):
        content = "".join(part["text"] for part in content)
    calls = message.get("tool_calls")
    return f"{content}{json.dumps(calls) if calls else ''}"
