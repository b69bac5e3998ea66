"""The peers' programs, each as natural to its package as six steps, a publish or a question can be.

They run in Pythons of their own, see `measure.peer`; what they find is the dict `figures`.
"""

# The last lines of each.
_TOLD = """
from pathlib import Path
rss = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
print(json.dumps(dict(**figures, rss_mb=rss)), flush=True)
import os; os._exit(0)  # what is measured is over
"""

# Peers get the PRAGMAs that our log has, whoever opens their database.
_SAME_PRAGMAS = """
import json, sqlite3, sys, time
from sqlite3 import dbapi2

mode, at_once, executions = sys.argv[1], *map(int, sys.argv[2:4])

connect = sqlite3.connect

def tuned(*args, **kwargs):
    connection = connect(*args, **kwargs)
    connection.execute("pragma journal_mode = wal")
    connection.execute(f"pragma synchronous = {mode}")
    connection.execute("pragma wal_autocheckpoint = 16000")
    connection.execute("pragma journal_size_limit = 67108864")
    return connection

sqlite3.connect = dbapi2.connect = tuned
"""

LANGGRAPH = (
    _SAME_PRAGMAS
    + """
path, durability = sys.argv[4:]
from typing import TypedDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

class State(TypedDict):
    value: int

def add_one(state):
    return dict(value=state["value"] + 1)

builder = StateGraph(State)
names = [START, "s1", "s2", "s3", "s4", "s5", "s6", END]
for name in names[1:-1]:
    builder.add_node(name, add_one)
for before, after in zip(names, names[1:]):
    builder.add_edge(before, after)
saver = SqliteSaver(sqlite3.connect(path, check_same_thread=False))
graph = builder.compile(checkpointer=saver)

def go(first, count):
    configs = [
        dict(configurable=dict(thread_id=str(n)), max_concurrency=at_once)
        for n in range(first, first + count)
    ]
    if at_once == 1:
        return [graph.invoke(dict(value=0), config, durability=durability) for config in configs]
    return graph.batch([dict(value=0)] * count, configs, durability=durability)

go(0, 5)
started = time.perf_counter()
done = go(1_000, executions)
took = time.perf_counter() - started
assert [state["value"] for state in done] == [6] * executions
figures = dict(steps=6 * executions / took)
"""
    + _TOLD
)

DBOS = (
    _SAME_PRAGMAS
    + """
path = sys.argv[4]
from concurrent.futures import ThreadPoolExecutor
from dbos import DBOS

DBOS(config=dict(name="bench", system_database_url="sqlite:///" + path, log_level="ERROR"))

@DBOS.step()
def add_one(value):
    return value + 1

@DBOS.workflow()
def six_steps(value):
    for _ in range(6):
        value = add_one(value)
    return value

DBOS.launch()

def go(count):
    if at_once == 1:
        return [six_steps(0) for _ in range(count)]
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(six_steps, [0] * count))

go(5)
started = time.perf_counter()
done = go(executions)
took = time.perf_counter() - started
assert done == [6] * executions
figures = dict(steps=6 * executions / took)
"""
    + _TOLD
)

AUTOGEN = (
    """
import asyncio, json, statistics, sys, time
from dataclasses import dataclass
from autogen_core import (
    AgentId, DefaultTopicId, MessageContext, RoutedAgent, SingleThreadedAgentRuntime,
    default_subscription, message_handler,
)

@dataclass
class Tested:
    execution_id: str
    number: int
    passed: bool
    summary: str

@dataclass
class Ping:
    number: int

@dataclass
class Pong:
    number: int

EVENTS, ASKS = map(int, sys.argv[1:])
handled = 0
took = []

@default_subscription
class Counting(RoutedAgent):
    def __init__(self):
        super().__init__("counts")

    @message_handler
    async def on_tested(self, message: Tested, ctx: MessageContext) -> None:
        global handled
        handled += 1

class Answering(RoutedAgent):
    def __init__(self):
        super().__init__("answers")

    @message_handler
    async def on_ping(self, message: Ping, ctx: MessageContext) -> Pong:
        return Pong(message.number)

async def main():
    global handled
    runtime = SingleThreadedAgentRuntime()
    await Counting.register(runtime, "counting", Counting)
    await Answering.register(runtime, "answering", Answering)
    runtime.start()
    to = AgentId("answering", "default")
    await runtime.send_message(Ping(0), to)
    started = time.perf_counter()
    for number in range(EVENTS):
        tested = Tested("k3f9q2m7", number, True, "148 passed in 12.3 s")
        await runtime.publish_message(tested, DefaultTopicId())
    while handled < EVENTS:
        await asyncio.sleep(0)
    flow = EVENTS / (time.perf_counter() - started)
    started = time.perf_counter()
    for number in range(ASKS):
        began = time.perf_counter()
        await runtime.send_message(Ping(number), to)
        took.append(time.perf_counter() - began)
    asks = ASKS / (time.perf_counter() - started)
    await runtime.stop()
    return flow, asks

flow, asks = asyncio.run(main())
figures = dict(
    flow=flow, ask=asks, p50_us=statistics.median(took) * 1e6,
    p99_us=statistics.quantiles(took, n=100)[98] * 1e6,
)
"""
    + _TOLD
)
