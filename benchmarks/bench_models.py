"""What does everything but the model's own time add to a step, and do 200 answers stream at once?

A scripted endpoint that speaks OpenAI's protocol runs in a process of its own. First one execution
at a time, whose one step asks it a question and gets 20 pieces at once: from `context.compile` to
`step.completed`, beside the bare SDK asking the same endpoint with the same prompt, and beside bare
HTTP, which is the model's own time here. The difference to that is what we add: choosing the model,
compiling and recording the prompt, the SDK, the events, the handler.

Then 200 executions at once, each with an answer of 100 pieces that come 50 ms apart (5 s at best),
beside 200 streams of the bare SDK on one event loop. Of ours every live piece is heard and must
come in its order and without a gap, and every answer must be whole.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measure import Figures, Ratios, Run, heading, in_turn, keep, percentiles, quickly, report, run

from cortex.bus import Client
from cortex.bus.events import (
    ExecutionRequest,
    ModelDelta,
    ModelInvoke,
    ModelResponded,
    ProcessSubmit,
)
from cortex.runtime.context import prompt_text
from cortex.runtime.kernel import Home, Runtime

RESULT = Path(__file__).parent / "results" / "bench_models.txt"
COMPONENTS = (
    "cortex.actors.accessors:ProcessDefinitionAccessor",
    "cortex.actors.managers:ProcessManager",
    "cortex.actors.engines:ProcessExecutionEngine",
    "cortex.actors.engines:CompilationEngine",
    "cortex.actors.handlers:AnswerQuestion",
    "cortex.actors.providers:OpenAIProvider",
)
PROCESS = """
process: ask_once
version: 1
description: Ask a model
steps:
  - id: answer
    description: Say why the build is broken
    action: answer_question
    with: { question: Why is the build broken? }
outputs:
  text: { type: string, value: "${steps.answer.text}" }
"""
AT_ONCE = 200
GOAL_MS = 10.0
STEPS, WARM = 150, 20
QUICK = (20, 0.0)  # pieces of an answer, and seconds between two of them
SLOW = (100, 0.05)


def piece(number: int) -> str:
    """The text of one piece."""
    return f" tok{number}"


def whole(pieces: int) -> str:
    """The text of an answer."""
    return "".join(map(piece, range(pieces)))


def frame(choices: list[object], **more: object) -> bytes:
    """One event of a stream, in a chunk of its own."""
    about = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    data = b"data: " + json.dumps({**about, "choices": choices, **more}).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


def choice(text: str, finish: str | None = None) -> list[object]:
    return [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]


async def serve(pieces: int, pause_s: float) -> None:
    """The endpoint: raw asyncio, so that it costs little beside what is measured."""
    frames = [frame(choice(piece(number))) for number in range(pieces)]
    usage = {"prompt_tokens": 3, "completion_tokens": pieces, "total_tokens": pieces + 3}
    end = frame(choice("", "stop")) + frame([], usage=usage) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(asked.partition(b"content-length:")[2].split()[0]))
                writer.write(head)
                for each in frames:
                    writer.write(each)
                    if pause_s:
                        await asyncio.sleep(pause_s)
                writer.write(end)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1_024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def endpoint(pieces: int, pause_s: float) -> Iterator[str]:
    """The endpoint in a process of its own; its base_url."""
    command = [sys.executable, __file__, "--serve", str(pieces), str(pause_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = server.stdout.readline().strip() if server.stdout else ""
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


@contextmanager
def started(base_url: str) -> Iterator[tuple[Runtime, Client]]:
    """A runtime whose one model is at the endpoint."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home.create(Path(folder) / ".cortex")
        model = {"name": "m", "provider": "openai", "base_url": base_url, "max_parallel": AT_ONCE}
        lines = [f"{key} = {json.dumps(value)}" for key, value in model.items()]
        lines = ["[models]", 'default = "m"', "[[models.use]]", *lines, "window = 100000"]
        home.config_path.write_text("\n".join(lines) + "\n")
        with Runtime(home, components=COMPONENTS) as runtime:
            client = runtime.client("bench")
            feed = client.follow(("process.compiled", None))
            client.publish(ProcessSubmit(sources={"a.yaml": runtime.blobs.put(PROCESS.encode())}))
            if not feed.next(60.0):
                sys.exit("the process did not compile")
            feed.close()
            yield runtime, client


def ask(client: Client, name: str, count: int) -> None:
    client.publish(
        *(ExecutionRequest(execution_id=f"{name}{n}", process="ask_once") for n in range(count))
    )


def completed(client: Client, name: str, executions: int) -> None:
    """Run so many executions, one at a time."""
    feed = client.follow(("execution.completed", None), ("execution.failed", None))
    for number in range(executions):
        ask(client, f"{name}{number}/", 1)
        records = feed.next(60.0)
        if [record.topic for record in records] != ["execution.completed"]:
            sys.exit(f"{name}{number} did not complete: {records}")
    feed.close()


def our_steps(base_url: str, count: int = STEPS) -> Figures:
    """How long a step takes, and its call among that."""
    with started(base_url) as (runtime, client):
        completed(client, "warm", WARM)
        head = client.head
        completed(client, "x", count)
        at: defaultdict[str, dict[str, int]] = defaultdict(dict)
        prompt = ""
        for record in client.read(after=head):
            at[record.stream][record.topic] = record.time_ns
            if record.topic == "model.invoke":
                event = runtime.vocabulary.read(record)
                prompt = event.prompt if isinstance(event, ModelInvoke) else ""
        text = prompt_text(runtime.blobs.get(prompt))
    steps = [(t["step.completed"] - t["context.compile"]) / 1e9 for t in at.values()]
    calls = [(t["model.responded"] - t["model.invoke"]) / 1e9 for t in at.values()]
    figures = {
        "step": percentiles(steps),
        "call": percentiles(calls),
        "sdk": percentiles(asyncio.run(sdk_calls(base_url, text))),
        "bare": percentiles(asyncio.run(bare_calls(base_url, text))),
    }
    added = figures["step"]["p50_us"] - figures["bare"]["p50_us"]
    flat = {f"{n}_{k}": value for n, each in figures.items() for k, value in each.items()}
    return {**flat, "added_us": added, "prompt_chars": len(text)}


async def bare_calls(base_url: str, prompt: str) -> list[float]:
    """How long the endpoint alone takes: the bytes of its answers are received and not parsed."""
    import httpx2

    took_s: list[float] = []
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "stream": True}
    async with httpx2.AsyncClient(trust_env=False) as client:
        for _ in range(WARM + STEPS):
            began = time.perf_counter()
            async with client.stream("POST", f"{base_url}/chat/completions", json=body) as answer:
                await answer.aread()
            took_s.append(time.perf_counter() - began)
    return took_s[WARM:]


async def sdk_calls(base_url: str, prompt: str) -> list[float]:
    """How long the SDK alone takes for the same, one call at a time."""
    from openai import AsyncOpenAI

    took_s: list[float] = []
    async with AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0) as client:
        for _ in range(WARM + STEPS):
            began = time.perf_counter()
            await sdk_stream(client, prompt)
            took_s.append(time.perf_counter() - began)
    return took_s[WARM:]


async def sdk_stream(client: object, prompt: str) -> str:
    """One answer by the SDK's own objects."""
    stream = await client.chat.completions.create(  # type: ignore[attr-defined]  # an extra
        model="m",
        messages=[{"role": "user", "content": prompt}],
        stream=True,
        stream_options={"include_usage": True},
        max_tokens=500,
    )
    said = [chunk.choices[0].delta.content async for chunk in stream if chunk.choices]
    return "".join(text for text in said if text)


def our_streams(base_url: str) -> Figures:
    """Many answers at once; a piece out of order, or an answer that is not whole, ends it."""
    expected = whole(SLOW[0])
    with started(base_url) as (runtime, client):
        completed(client, "warm", 1)
        feed = client.follow(
            ("model.delta", None), ("model.responded", None), ("execution.failed", None)
        )
        heard: defaultdict[str, list[str]] = defaultdict(list)
        began, cpu, done, pieces = time.perf_counter(), time.process_time(), 0, 0
        ask(client, "x", AT_ONCE)
        while done < AT_ONCE:
            for record in feed.next(60.0) or sys.exit(f"{done} of {AT_ONCE} answered"):
                event = runtime.vocabulary.read(record)
                if isinstance(event, ModelDelta):
                    if event.number != len(heard[event.execution_id]):
                        sys.exit(f"{event.execution_id}: piece {event.number} came out of order")
                    heard[event.execution_id].append(event.text)
                    pieces += 1
                elif isinstance(event, ModelResponded):
                    if event.answer["text"] != expected:
                        sys.exit(f"{event.execution_id}: the answer is not whole")
                    done += 1
                else:
                    sys.exit(str(event))
        took_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        completed_at = [r.version for r in client.read_stream("execution/x0")]
        if completed_at != list(range(1, len(completed_at) + 1)):
            sys.exit(f"versions of x0: {completed_at}")
    if any("".join(texts) != expected for texts in heard.values()):
        sys.exit("a live text is not whole")
    return {"took_s": took_s, "cpu_s": cpu_s, "deltas": pieces}


def sdk_streams(base_url: str) -> Figures:
    """As many by the SDK alone."""
    expected = whole(SLOW[0])

    async def all_of_them() -> tuple[float, float]:
        from openai import AsyncOpenAI

        async with AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0) as client:
            await sdk_stream(client, "warm")
            began, cpu = time.perf_counter(), time.process_time()
            said = await asyncio.gather(*(sdk_stream(client, "go") for _ in range(AT_ONCE)))
            if any(text != expected for text in said):
                sys.exit("the SDK lost something")
            return time.perf_counter() - began, time.process_time() - cpu

    took_s, cpu_s = asyncio.run(all_of_them())
    return {"took_s": took_s, "cpu_s": cpu_s}


CHILDREN = {"steps": our_steps, "streams": our_streams, "sdk": sdk_streams}


def lines(found: dict[str, Figures], rounds: int) -> Iterator[str]:
    yield heading(rounds)
    step, ours, sdk = found["steps"], found["streams"], found["sdk"]

    def ms(name: str) -> str:
        return (
            f"{step[f'{name}_p50_us'] / 1e3:6.2f} ms p50, {step[f'{name}_p99_us'] / 1e3:6.2f} p99"
        )

    size = f"{step['prompt_chars']:,.0f} characters of prompt"
    yield f"a step that asks a model, one at a time, {size}:"
    yield f"    whole step       {ms('step')}"
    yield f"    of that the call {ms('call')}"
    yield f"    bare SDK         {ms('sdk')}"
    yield f"    bare HTTP        {ms('bare')}"
    yield f"    what we add      {step['added_us'] / 1e3:6.2f} ms p50 (goal < {GOAL_MS:g})"
    pieces = AT_ONCE * SLOW[0]
    best_s = SLOW[0] * SLOW[1]
    yield f"{AT_ONCE} answers at once, {SLOW[0]} pieces each, {best_s:g} s at best:"
    for name, each in (("ours", ours), ("bare SDK", sdk)):
        yield (
            f"    {name:8}  {each['took_s']:5.2f} s, {each['cpu_s']:5.2f} s of CPU "
            f"({each['cpu_s'] / pieces * 1e6:4.0f} us a piece), {each['rss_mb']:.0f} MB"
        )
    yield (
        f"    ours {ours['took_s'] / sdk['took_s']:.2f} x the time and "
        f"{ours['cpu_s'] / sdk['cpu_s']:.2f} x the CPU, with the whole of every execution; "
        f"{ours['deltas']:,.0f} live pieces, all in order, none lost"
    )


def quick() -> Ratios:
    """A step that asks a model, to the endpoint's own answer."""
    with endpoint(*QUICK) as url:
        figures = our_steps(url, 40)
    return {"step": figures["bare_p50_us"] / figures["step_p50_us"]}


def main() -> None:
    quickly(quick)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", nargs=2)
    parser.add_argument("--child", nargs=2)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(int(given.serve[0]), float(given.serve[1])))
    elif given.child:
        report(CHILDREN[given.child[0]](given.child[1]))
    else:
        with endpoint(*QUICK) as fast, endpoint(*SLOW) as slow:
            urls = {"steps": fast, "streams": slow, "sdk": slow}
            runs: dict[str, Run] = {
                name: lambda name=name, url=url: run(sys.executable, __file__, "--child", name, url)
                for name, url in urls.items()
            }  # fmt: skip
            found = in_turn(given.rounds, runs)
        keep(lines(found, given.rounds), RESULT)


if __name__ == "__main__":
    main()
