"""A tool server that writes without end: its log is bounded, our time and memory are, too."""

import asyncio
import importlib
import importlib.util
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.isolation import ChildLog, keep
from cortex.runtime.log import private
from cortex.runtime.tools import McpServer

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mcp") is None, reason="the extra `mcp` is not installed"
)
SERVER = """
import json, os, sys, threading

def flood(descriptor, piece):
    while True:
        os.write(descriptor, piece)

def say(**fields):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\\n")
    sys.stdout.flush()

PIECES = {"errors": (2, b"x" * 65536), "lines": (2, b"x\\n" * 32768)}
if sys.argv[1] in PIECES:
    threading.Thread(target=flood, args=PIECES[sys.argv[1]], daemon=True).start()
for line in sys.stdin:
    asked = json.loads(line)
    match asked.get("method"):
        case "initialize":
            version = asked["params"]["protocolVersion"]
            info = {"name": "odd", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            say(id=asked["id"], result=result)
        case "tools/list":
            tool = {"name": "t", "inputSchema": {"type": "object"}}
            say(id=asked["id"], result={"tools": [tool]})
        case "tools/call" if sys.argv[1] == "endless":
            flood(1, b"x" * 65536)
        case "tools/call" if sys.argv[1] == "chatter":
            flood(1, b"no message\\n")
        case "tools/call":
            say(id=asked["id"], result={"content": []})
        case _ if asked.get("id") is not None:
            say(id=asked["id"], error={"code": -32601, "message": "no"})
"""
LOOKED_S = 3.0
MOST_BYTES = 3 << 20  # of the log and the one before it, and what is on its way
MOST_SHARE = 0.25  # of one core; a quarter of a second is for starting
MOST_MIB = 200  # more than before


def server_of(folder: Path, mode: str) -> Any:
    module = importlib.import_module("cortex.actors.tools.mcp.server")
    script = folder / "server.py"
    script.write_text(SERVER)
    said = McpServer(name="odd", command=(sys.executable, str(script), mode))
    environments = importlib.import_module("cortex.actors.tools.mcp.environments")
    places = environments.Environments(None)
    return module.Server(said, folder / "logs" / "odd.log", lambda: None, places)


@pytest.mark.parametrize("mode", ["errors", "lines"])
def test_a_server_that_writes_errors_without_end_is_bounded(mode: str, tmp_path: Path) -> None:
    async def look() -> tuple[float, int]:
        server = server_of(tmp_path, mode)
        await server.tools()
        began, worked = time.monotonic(), time.process_time()
        await asyncio.sleep(LOOKED_S)
        share = (time.process_time() - worked) / (time.monotonic() - began)
        size = sum(path.stat().st_size for path in (tmp_path / "logs").iterdir())
        await server.call("t", {}, 60.0)  # it works all the same
        await server.close()
        return share, size

    share, size = asyncio.run(look())

    assert 0 < size < MOST_BYTES
    assert share < MOST_SHARE


@pytest.mark.parametrize(
    ("mode", "reason"),
    [("endless", "a line of more than 16 MiB"), ("chatter", "lines that are not messages")],
)
def test_a_server_that_answers_without_end_is_ended(mode: str, reason: str, tmp_path: Path) -> None:
    async def ask() -> str:
        server = server_of(tmp_path, mode)
        await server.tools()
        with pytest.raises(Exception, match="odd: ") as error:
            await server.call("t", {}, 60.0)
        await server.close()
        return str(error.value)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = asyncio.run(ask())

    assert reason in said
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10 < MOST_MIB


def test_a_log_keeps_no_secret_and_takes_two_files(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "child.log"
    log = ChildLog(path, lambda line: line.replace("hunter2", "[KEY]"), private)

    for _ in range(40):
        log.take(b"the key is hunter2 " + b"x" * 100_000 + b"\n")
    descriptor = keep(log)
    os.write(descriptor, b"last")
    os.close(descriptor)

    assert {each.name for each in path.parent.iterdir()} <= {"child.log", "child.log.1"}
    assert "hunter2" not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
