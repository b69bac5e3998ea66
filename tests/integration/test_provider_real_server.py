"""The provider `openai` against an inference server that nobody here wrote.

`CORTEX_INFERENCE` names a Python that has `torch` and `transformers[serving]`, or
`llama-cpp-python[server]` and `gguf`; else the one that runs the tests is looked at.
"""

import asyncio
import importlib.util
from collections.abc import Iterator

import pytest

from cortex.actors.providers import OpenAIProvider
from cortex.bus import Event
from cortex.bus.events import ModelDelta, ModelResponded
from cortex.runtime.context import TokenCounter
from cortex.runtime.kernel import Delivery

from ..servers import PROMPT, Asking, config_for
from ..servers.inference import PYTHON, Inference, engines, served

pytestmark = pytest.mark.timeout(600)
FOUND = engines()
NONE: list[None] = [None]
LONG = 1_500  # tokens
TRIES = 5
NOBODY = Delivery(position=1, time_ns=1, component="tested")


@pytest.fixture(
    scope="module", params=FOUND or NONE, ids=[e.name for _, e in FOUND] or ["no engine"]
)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Inference]:
    if importlib.util.find_spec("openai") is None:
        pytest.skip("the extra openai is not installed")
    if request.param is None:
        pytest.skip(f"no inference server is installed here; {PYTHON} may name a Python with one")
    python, engine = request.param
    with served(python, engine, tmp_path_factory.mktemp(engine.name)) as inference:
        yield inference


@pytest.fixture
def asking(server: Inference) -> Asking:
    config = config_for("openai", server.base_url, model=server.model, window=2_048)
    return Asking(OpenAIProvider, config)


def whole(said: list[Event]) -> ModelResponded:
    assert isinstance(said[-1], ModelResponded), said[-1]
    return said[-1]


def test_an_answer_streams_and_its_tokens_are_counted(server: Inference, asking: Asking) -> None:
    said = asking.ask(asking.invoke(max_tokens=LONG // 2, timeout_s=120.0))

    answer, deltas = whole(said), [event for event in said if isinstance(event, ModelDelta)]
    assert len(deltas) > 1
    assert [piece.number for piece in deltas] == list(range(len(deltas)))
    assert "".join(piece.text for piece in deltas) == answer.answer["text"]
    assert answer.stop == "length"
    if server.engine.tells_usage:
        assert answer.output_tokens == LONG // 2
        assert answer.input_tokens > len(PROMPT)  # its tokens are bytes, and it adds a template
    else:
        count = TokenCounter().count
        assert answer.input_tokens == count(PROMPT)
        assert answer.output_tokens == count(answer.answer["text"])


def test_answers_come_side_by_side(asking: Asking) -> None:
    async def four() -> list[list[Event]]:
        event = asking.invoke(max_tokens=20, timeout_s=120.0)
        return list(await asyncio.gather(*(asking.said(event) for _ in range(4))))

    assert [len(whole(said).answer["text"]) > 0 for said in asking.run(four)] == [True] * 4


def test_a_cancelled_call_ends_the_computing(server: Inference, asking: Asking) -> None:
    short = asking.invoke(max_tokens=4, timeout_s=120.0)

    async def computed(cancelled: bool) -> int:
        """What a long answer costs the server, up to a short one after it."""
        before = server.cpu_ticks()
        call = asking.provider.invoke(asking.invoke(max_tokens=LONG, timeout_s=240.0), NOBODY)
        async for _ in call:
            if cancelled:
                break
        await call.aclose()  # type: ignore[attr-defined]  # it is a generator
        whole(await asking.said(short))
        return server.cpu_ticks() - before

    async def all_of_them() -> tuple[int, list[int]]:
        whole_one = await computed(cancelled=False)
        return whole_one, [await computed(cancelled=True) for _ in range(TRIES)]

    to_the_end, cut = asking.run(all_of_them)

    # A server may be far ahead of its first delta while the machine is busy, but not each time.
    assert min(cut) < to_the_end / 2, cut
