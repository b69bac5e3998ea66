"""Real MCP servers, over stdio and over HTTP, behind a component on its own event loop."""

import asyncio
import contextlib
import importlib
import importlib.util
import itertools
import os
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.actors.tools.mcp import McpTools, servers_of
from cortex.bus import Draft, Event, Recorded
from cortex.bus.events import (
    VOCABULARY,
    EffectUnknown,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolListed,
    ToolReturned,
)
from cortex.runtime.kernel import ComponentInvalidError, Config, Home
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.registry import LISTER, NOT_YET

from ..ports import free_port
from ..waiting import until

STDIO_PROGRAM: Any = importlib.import_module("cortex.actors.tools.mcp.stdio")

SERVER = Path(__file__).with_name("tools_mcp_server.py")
STDIO = {"name": "tiny", "command": [sys.executable, str(SERVER)], "env": ["TINY_TOKEN"]}
NAMES = ["add", "boom", "grow", "pixel", "secret", "slow", "who"]
PATIENCE_S = 120.0
HOSTS: Any = importlib.import_module("cortex.runtime.kernel.hosts.async_host")

needs_sdk = pytest.mark.skipif(
    importlib.util.find_spec("mcp") is None, reason="the extra `mcp` is not installed"
)


class World:
    """The component in its host, and a log of what came of it."""

    def __init__(
        self, home: Home | None, *servers: dict[str, Any], recorded: Sequence[Recorded] = ()
    ) -> None:
        self.blobs = MemoryBlobs()
        self.recorded = [*recorded]
        self._servers = len(servers)
        self.told: list[ToolListed] = []  # at once, not with the answer to a call
        self.awaited: list[str] = []  # servers that had not answered when this was said
        self._numbers = itertools.count(1)

        def make() -> McpTools:
            return McpTools(
                Config(),
                self.blobs,
                VOCABULARY,
                home,
                {"servers": list(servers)},
                self.history,
                self._publish,
            )

        self.host = HOSTS.AsyncHost(make, VOCABULARY, lambda _drafts: None)
        self.host.start()

    def tell(self, event: Event) -> list[Event]:
        """What comes of an event; it is recorded."""
        outcome = self.host.handle([self._record(Draft.of(event))], 1)
        assert outcome.failure is None, outcome.failure
        answers = [self._record(draft) for draft in outcome.done[0].events]
        return [VOCABULARY.read(answer) for answer in answers]

    def begin(self) -> list[ToolListed]:
        """What is recorded after a start, of servers that nothing is recorded of."""
        until(lambda: len(self.told) == self._servers)
        return self.told

    def call(
        self, tool: str, within_s: float = 60.0, effect: str = "read", **arguments: Any
    ) -> list[Event]:
        """What comes of a call."""
        return self.tell(
            ToolCall(
                execution_id="e1",
                step_id="s1",
                turn=1,
                call_id=f"c{next(self._numbers)}",
                tool=tool,
                provider="mcp",
                arguments=arguments,
                timeout_s=within_s,
                effect=effect,
            )
        )

    def text(self, tool: str, **arguments: Any) -> str:
        """All that a tool gives."""
        answer = self.call(tool, **arguments)[0]
        assert isinstance(answer, ToolReturned), answer
        return self.blobs.get(answer.result).decode()

    def failure(self, tool: str, **arguments: Any) -> ToolFailed:
        """Why a tool gives nothing: one clear line."""
        answer = self.call(tool, **arguments)[0]
        assert isinstance(answer, ToolFailed), answer
        assert answer.error
        assert "\n" not in answer.error
        return answer

    def record(self, event: Event, source: str) -> None:
        """Record what somebody else says."""
        self._record(Draft.of(event), source)

    def history(self, stream: str) -> Iterator[Recorded]:
        """The events of one stream."""
        return iter([record for record in self.recorded if record.stream == stream])

    def _publish(self, *events: ToolListed) -> int:
        for event in events:
            self._record(Draft.of(event))
            if event.reason == "not answered yet":
                self.awaited.append(event.server)
            else:
                self.told.append(event)
        return len(self.recorded)

    def _record(self, draft: Draft, source: str = LISTER) -> Recorded:
        VOCABULARY.check(draft)
        at = len(self.recorded) + 1
        record = Recorded(
            1,
            at,
            draft.stream,
            at,
            bytes(16),
            1_700_000_000_000_000_000 + at,
            draft.topic,
            draft.schema,
            "e1",
            None,
            source,
            draft.key,
            None,
            draft.body,
        )
        self.recorded.append(record)
        return record


@contextlib.contextmanager
def world(
    home: Home | None, *servers: dict[str, Any], recorded: Sequence[Recorded] = ()
) -> Iterator[World]:
    made = World(home, *servers, recorded=recorded)
    try:
        yield made
    finally:
        made.host.stop()


@contextlib.contextmanager
def serving(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The server over HTTP, once it takes connections."""
    words = [sys.executable, str(SERVER), "http", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: is_open(port))
        yield process
    finally:
        process.kill()
        process.wait()


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
    except OSError:
        return False
    return True


def listed(events: Iterable[Event]) -> dict[str, list[str]]:
    """Names of tools by server."""
    lists = [event for event in events if isinstance(event, ToolListed)]
    return {each.server: [tool["name"] for tool in each.tools] for each in lists}


def pid_of(there: World, server: str) -> int:
    pid: int = msgspec.json.decode(there.text(f"{server}.who"))["pid"]
    return pid


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


@pytest.fixture(scope="module")
def tiny() -> Iterator[World]:
    """A world that several tests may look at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TINY_TOKEN", "s3cret-token")
        patch.setenv("OTHER", "0ther-token")
        with world(None, STDIO) as there:
            there.begin()
            yield there


# --- lists and calls


@needs_sdk
def test_what_a_server_offers_is_recorded(tiny: World) -> None:
    said = [VOCABULARY.read(record) for record in tiny.history("tools/tiny")]

    assert listed(said) == {"tiny": NAMES}
    first, found = [event for event in said if isinstance(event, ToolListed)]
    assert first == ToolListed(server="tiny", reason="not answered yet", component="McpTools")
    assert found.tools[0]["description"] == "Add two numbers."
    assert found.tools[0]["parameters"]["required"] == ["a", "b"]


@needs_sdk
def test_a_call_gives_a_text(tiny: World) -> None:
    assert tiny.text("tiny.add", a=1, b=2) == "3\n"


@needs_sdk
@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("tiny.boom", {}, "Error executing tool boom"),
        ("tiny.add", {"a": "x"}, "Field required"),
        ("tiny.nothing", {}, "Unknown tool: nothing"),
    ],
)
def test_a_tool_that_fails_is_an_observation(
    tiny: World, tool: str, arguments: dict[str, Any], said: str
) -> None:
    failed = tiny.failure(tool, **arguments)

    assert failed.kind == "failed"
    assert said in failed.error


@needs_sdk
def test_a_tool_that_never_returns_ends_as_a_timeout_and_the_next_call_works(tiny: World) -> None:
    failed = tiny.failure("tiny.slow", within_s=0.3, seconds=600)

    assert (failed.kind, failed.error) == ("timeout", "tiny.slow returned nothing within 0.3 s")
    assert tiny.text("tiny.add", a=2, b=2) == "4\n"


@needs_sdk
def test_a_call_of_unknown_outcome_is_asked_about_where_it_may_happen_once(tiny: World) -> None:
    said = tiny.call("tiny.slow", within_s=0.3, effect="once", seconds=600)[0]

    assert isinstance(said, EffectUnknown)
    assert (said.name, said.call_id[0], said.parameters) == ("tiny.slow", "c", {"seconds": 600})
    assert said.reason == "it returned nothing within 0.3 s"


@needs_sdk
def test_a_call_that_the_server_says_it_failed_is_no_question(tiny: World) -> None:
    said = tiny.call("tiny.boom", effect="once")[0]

    assert isinstance(said, ToolFailed)


@needs_sdk
def test_an_image_is_said_and_kept(tiny: World) -> None:
    said = tiny.text("tiny.pixel")

    digest = said.split()[-1].rstrip("]")
    assert said.startswith("[image image/png, 70 bytes, kept as ")
    assert tiny.blobs.get(digest).startswith(b"\x89PNG")


@needs_sdk
def test_a_server_gets_the_variables_it_is_to_get_and_events_never_hold_them(tiny: World) -> None:
    assert tiny.text("tiny.secret") == "token [TINY_TOKEN], other none\n"
    assert not [record for record in tiny.recorded if b"s3cret" in record.body]


@needs_sdk
def test_a_call_that_takes_its_time_holds_up_no_other(tiny: World) -> None:
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(tiny.call, "tiny.slow", within_s=2.0, seconds=600)
        quick = tiny.text("tiny.add", a=1, b=1)
        first = not slow.done()

    assert (quick, first) == ("2\n", True)


@needs_sdk
def test_what_a_server_says_on_standard_error_goes_to_a_file(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    with world(home, STDIO) as there:
        there.failure("tiny.boom")

    log = home.path / "logs" / "mcp-tiny.log"
    assert "boom was called" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
    assert capfd.readouterr() == ("", "")


@needs_sdk
def test_only_tools_that_are_allowed_are_listed_and_called(home: Home) -> None:
    with world(home, STDIO | {"allow": ["add"]}) as there:
        assert listed(there.begin()) == {"tiny": ["add"]}
        denied = there.call("tiny.boom")[0]
        assert isinstance(denied, ToolDenied)
        assert denied.reason == "config.toml does not allow 'boom' of tiny"
        assert there.text("tiny.add", a=1, b=1) == "2\n"


# --- changes


@needs_sdk
@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_a_list_that_changes_in_mid_run_is_recorded(kind: str) -> None:
    port = free_port()
    server = STDIO if kind == "stdio" else {"name": "tiny", "url": f"http://127.0.0.1:{port}/mcp"}
    with serving(port) if kind == "http" else contextlib.nullcontext(), world(None, server) as it:
        assert listed(it.begin()) == {"tiny": NAMES}

        with_call = it.call("tiny.grow")

        until(lambda: len(it.told) > 1 or len(with_call) > 1)
        news = listed([*with_call, *it.told[1:]])
        assert news == {"tiny": sorted([*NAMES, "hello"])}
        assert it.text("tiny.hello") == "hi\n"


@needs_sdk
def test_a_list_is_recorded_again_only_when_it_has_changed(tiny: World) -> None:
    before = len(list(tiny.history("tools/tiny")))

    tiny.text("tiny.add", a=1, b=1)

    assert len(list(tiny.history("tools/tiny"))) == before


@needs_sdk
def test_a_server_whose_tools_are_recorded_is_not_started_before_it_is_needed(home: Home) -> None:
    with world(home, STDIO) as there:
        there.begin()
    other = {"name": "tiny", "command": ["/no/such/program"]}

    with world(home, other, recorded=there.recorded) as later:
        assert later.failure("tiny.add").error == "tiny: its command is not installed"
        assert later.told == []


@needs_sdk
def test_what_another_client_lists_under_a_servers_name_is_not_taken_for_its_tools(
    home: Home,
) -> None:
    with world(home, STDIO) as there:
        (said,) = there.begin()
        wipe = {"name": "wipe", "description": "", "input_schema": {}, "annotations": False}
        forged = ToolListed(
            server="tiny", provider="mcp", component="McpTools", tools=({**wipe, "effect": "read"},)
        )
        there.record(forged, "plugin.greedy")

    with world(home, STDIO, recorded=there.recorded) as later:
        assert later.text("tiny.add", a=1, b=2).strip() == "3"
        assert listed(later.told) == {}  # the forged list was not what stood

    alone = [each for each in there.recorded if each.source == "plugin.greedy"]
    with world(home, STDIO, recorded=alone) as first:
        assert listed(first.begin()) == {"tiny": [tool["name"] for tool in said.tools]}


@needs_sdk
def test_a_server_that_was_killed_is_started_again(tiny: World) -> None:
    with world(None, STDIO) as there:
        first = pid_of(there, "tiny")
        os.kill(first, signal.SIGKILL)
        until(lambda: not is_alive(first))

        there.call("tiny.add", a=1, b=1)  # may meet the end of the first one
        second = pid_of(there, "tiny")

        assert second != first
        assert there.text("tiny.add", a=1, b=2) == "3\n"


@needs_sdk
def test_a_server_that_is_killed_during_a_call_is_said_to_have_ended(home: Home) -> None:
    with world(home, STDIO) as there:
        pid = pid_of(there, "tiny")
        killer = subprocess.Popen([sys.executable, "-c", KILLER, str(pid)])
        failed = there.failure("tiny.slow", seconds=60)
        killer.wait()

        assert failed.kind == "interrupted"
        assert "the next call starts it again" in failed.error
        assert there.text("tiny.add", a=1, b=2) == "3\n"


@needs_sdk
def test_a_program_ends_with_a_loop_that_cancels_its_ending(tmp_path: Path) -> None:
    """As a host does that could not close its component in time."""
    said = tmp_path / "pid"
    words = [sys.executable, "-c", STUBBORN, str(said)]

    async def used() -> None:
        async with STDIO_PROGRAM.over_stdio(words, dict(os.environ), 2, print):
            await asyncio.sleep(600)

    async def cancelled() -> None:
        using = asyncio.create_task(used())
        while not (said.exists() and said.read_text()):
            await asyncio.sleep(0.01)
        for _ in range(3):
            using.cancel()
            await asyncio.sleep(0)

    asyncio.run(cancelled())

    assert not is_alive(int(said.read_text()))


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
time.sleep(600)
"""
KILLER = "import os, sys, time; time.sleep(1); os.kill(int(sys.argv[1]), 9)"


@needs_sdk
def test_a_server_over_http_that_was_started_again_is_found_again() -> None:
    port = free_port()
    with world(None, {"name": "web", "url": f"http://127.0.0.1:{port}/mcp"}) as there:
        with serving(port):
            assert there.text("web.add", a=1, b=2) == "3\n"
        there.call("web.add", a=1, b=2)
        with serving(port):
            answers = [there.call("web.add", a=1, b=2)[0] for _ in range(2)]

    assert isinstance(answers[-1], ToolReturned)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        with contextlib.suppress(ChildProcessError):
            return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}").exists()


# --- servers that are slow, or odd


@needs_sdk
def test_a_server_that_is_slow_to_start_is_asked_at_once_and_said_to_be_waited_for() -> None:
    with world(None, {"name": "slow", "command": ["sleep", "600"]}) as there:
        until(lambda: there.awaited)

        assert there.told == []
    assert there.awaited == ["slow"]


@needs_sdk
def test_a_server_whose_tools_change_all_the_time_is_listed_seldom() -> None:
    with world(None, ODD | {"command": [*ODD["command"], "changes"]}) as there:
        until(lambda: len(there.told) > 2)

    times = [int(each.tools[0]["description"]) for each in there.told]
    assert times[2] - times[0] > 2e9


@needs_sdk
def test_odd_tools_take_no_others_away_and_are_named() -> None:
    with world(None, ODD | {"command": [*ODD["command"], "odd"]}) as there:
        (said,) = there.begin()

    assert listed([said]) == {"odd": ["fine"]}
    assert said.reason.startswith(
        "left out 'deep', 'half', 'kindless', '', 'a name\\n0' and others: "
    )
    assert "\n" not in said.reason


@needs_sdk
def test_a_server_whose_tools_are_all_odd_has_a_reason() -> None:
    with world(None, ODD | {"command": [*ODD["command"], "huge"]}) as there:
        (said,) = there.begin()

    assert (said.tools, said.reason.partition(":")[0]) == ((), "left out 'big'")


@needs_sdk
def test_an_answer_that_is_not_as_the_protocol_wants_it_is_said_in_one_plain_line() -> None:
    with world(None, ODD | {"command": [*ODD["command"], "fine"]}) as there:
        failed = there.failure("odd.fine")

    assert failed.error.startswith("odd: its answer does not follow the protocol: content.0")
    assert "pydantic" not in failed.error
    assert failed.kind == "failed"


ODD: dict[str, Any] = {
    "name": "odd",
    "command": [sys.executable, str(SERVER.with_name("tools_mcp_odd.py"))],
}


# --- servers that cannot be used


@needs_sdk
def test_servers_that_cannot_be_used_say_why_and_leave_the_others_alone(home: Home) -> None:
    garbage = "import time; print('hello', flush=True); time.sleep(60)"
    bad: list[dict[str, Any]] = [
        {"name": "absent", "command": ["/no/such/program"]},
        {"name": "ends", "command": [sys.executable, "-c", ""]},
        {"name": "silent", "command": ["sleep", "60"], "timeout_s": 2.0},
        {"name": "garbage", "command": [sys.executable, "-c", garbage], "timeout_s": 2.0},
        {"name": "refused", "url": f"http://127.0.0.1:{free_port()}/mcp"},
    ]
    with world(home, *bad, STDIO) as there:
        reasons = {each.server: each.reason for each in there.begin()}
        failed = there.failure("absent.anything")

    assert reasons == {
        "absent": "absent: its command is not installed",
        "ends": "ends: it ended, or closed the connection",
        "silent": "silent: it did not answer within 2 s",
        "garbage": "garbage: it did not answer within 2 s",
        "refused": "refused: it cannot be reached",
        "tiny": "",
    }
    assert failed.error == "absent: its command is not installed"


def test_a_server_that_is_not_configured_is_missing_and_its_tools_are_taken_back() -> None:
    with world(None) as there:
        failed, gone = there.call("other.tool")

    assert isinstance(failed, ToolFailed)
    assert failed.kind == "missing"
    assert gone == ToolListed(
        server="other", reason="it is not in config.toml", component="McpTools"
    )


def test_without_the_sdk_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)

    with world(None, STDIO) as there:
        (said,) = there.begin()
        failed = there.failure("tiny.add", a=1, b=2)

    assert failed.kind == "missing"
    assert "pip install 'cortex-runtime[mcp]'" in failed.error
    assert "pip install 'cortex-runtime[mcp]'" in said.reason


def test_the_sdk_is_imported_only_when_a_server_is_connected_to() -> None:
    script = "import cortex.actors.tools.mcp, sys; sys.exit('mcp' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ([{"name": "a"}], "the server a needs a command or a url, and not both"),
        ([{"name": "a", "command": ["x"], "url": "http://x"}], "needs a command or a url"),
        (
            [{"name": "a.b", "command": ["x"]}],
            "the name 'a.b' of a server is to be 1 to 32 letters",
        ),
        ([{"name": "a", "command": ["x"]}] * 2, "two servers are called a"),
        ([{"name": "a", "comand": ["x"]}], "unknown field `comand`"),
        ([{"name": "a", "url": "file:///etc"}], "cannot be started"),
        ([{"name": "a", "command": [""]}], "needs a command"),
    ],
)
def test_a_server_that_is_not_said_rightly_is_refused(servers: list[Any], said: str) -> None:
    with pytest.raises(ComponentInvalidError, match=said.replace("`", "[`]")):
        servers_of(Config(), {"servers": servers})


# A server that was written for another SDK than ours.

OLD_SDK = '''
import json, sys


class FastMCP:
    """As much of an older SDK as a server with one tool uses."""

    def __init__(self, name):
        self.name, self.tools = name, {}

    def tool(self):
        return lambda function: self.tools.setdefault(function.__name__, function)

    def run(self):
        for line in sys.stdin:
            asked = json.loads(line)
            method, number = asked.get("method"), asked.get("id")
            if number is None:
                continue
            if method == "initialize":
                about = {"name": self.name, "version": "1"}
                result = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                          "serverInfo": about}
            elif method == "tools/list":
                result = {"tools": [{"name": n, "inputSchema": {"type": "object"}}
                                    for n in self.tools]}
            elif method == "tools/call":
                said = self.tools[asked["params"]["name"]]()
                result = {"content": [{"type": "text", "text": said}]}
            else:
                error = {"code": -32601, "message": "Method not found"}
                print(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}), flush=True)
                continue
            print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
'''
OLD_SERVER = """
from mcp.server.fastmcp import FastMCP
import mcp

server = FastMCP("old")


@server.tool()
def where():
    return mcp.__file__


server.run()
"""


def wheel_of(folder: Path) -> Path:
    """A package `mcp` in version 1.0, which the server wants and we have newer."""
    info = "mcp-1.0.dist-info"
    files = {
        "mcp/__init__.py": "",
        "mcp/server/__init__.py": "",
        "mcp/server/fastmcp.py": OLD_SDK,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: mcp\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / "mcp-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in files))
    return path


@needs_sdk
def test_a_server_for_an_older_sdk_starts_in_an_environment_of_its_own(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    script = tmp_path / "old.py"
    script.write_text(OLD_SERVER)
    server = {
        "name": "old",
        "command": ["python", str(script)],
        "packages": [f"mcp @ file://{wheel_of(tmp_path)}"],
        "timeout_s": 30,
    }

    with world(home, server) as there:
        there.begin()
        (answer, *_) = there.call("old.where")

    assert [tool["name"] for tool in there.told[-1].tools] == ["where"]
    assert isinstance(answer, ToolReturned)
    found = there.blobs.get(answer.result).decode()
    assert found.startswith(str(tmp_path / "cache"))


@needs_sdk
def test_packages_that_cannot_be_installed_are_said_in_a_line(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    gone = f"gone @ file://{tmp_path}/gone-1.0-py3-none-any.whl"

    with world(home, {"name": "old", "command": ["python"], "packages": [gone]}) as there:
        there.begin()
        until(lambda: there.told[-1].reason != NOT_YET)

    assert there.told[-1].reason.startswith("old: its packages cannot be installed: ERROR: ")
    assert not there.told[-1].tools


@pytest.mark.parametrize("package", ["--index-url=http://evil", "", " mcp", "-r x", "mcp\n-r x"])
def test_an_option_is_no_package(package: str) -> None:
    with pytest.raises(ComponentInvalidError):
        servers_of(Config(), {"servers": [{"name": "a", "command": ["x"], "packages": [package]}]})
