"""A folder that holds modules called like Cortex's own libraries: no command runs one of them."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import pytest

from ..installed_packages import install

pytestmark = pytest.mark.wheel  # it is about the Pythons that Cortex starts

STARTED_IN_FULL = True  # it is about what happens between `exec` and the first import

root: Any = import_module("cortex.runtime.cli.tree").root
CORTEX = Path(sys.executable).parent / "cortex"
STUCK_S = 240.0
PLANTED = (
    *("msgspec", "click", "mcp", "structlog", "pykka", "pynng", "yaml", "rich", "sqlite_utils"),
    *("json", "typing", "sqlite3", "readline", "sitecustomize", "usercustomize"),
    *("numpy", "faiss", "onnxruntime", "tokenizers", "openai", "anthropic", "pypdf", "html2text"),
    *("keyring", "uvloop", "orjson", "cryptography", "zstandard", "platformdirs", "tiktoken"),
)
PROGRAMS = ("git", "sh", "env", "bwrap", "python", "python3")
PROCESS = """\
process: planted
version: 1
steps:
  - { id: say, action: shell, with: { run: [printf, said] } }
  - { id: tell, action: send_notification, with: { command: [cat] } }
"""
# Reads in spawned processes, asks git and the model that comes with Cortex.
TRIAGE = ("triage_ci_failure", "-i", "log=failure.log", "-i", "checkout=.")
LOG = "E   assert 1 == 2\nsrc/cart.py:1: AssertionError\nFAILED test_cart.py::test_sum\n"

# What each command is given; {execution}, {prompt} and the like are filled in by the first run.
# A command that has no line here fails the test: whoever adds one says how it is run.
COMMANDS: dict[str, list[list[str]]] = {
    "client add": [["ann", "--token-file", "ann.token"]],
    "client fingerprint": [[]],
    "client grant": [["ann", "--read", "step.*"]],
    "client list": [[]],
    "client revoke": [["ann"]],
    "client show": [["ann"]],
    "completion": [["bash"]],
    "context health": [["{execution}"]],
    "audit consistency": [["1"]],
    "audit erase": [["nobody", "--dry-run"], ["nobody", "--why", "none"]],
    "audit key list": [[]],
    "audit key new": [["planted"]],
    "audit prove": [["1"]],
    "audit record": [["1", "record"]],
    "audit report": [[]],
    "audit sign": [[]],
    "audit subjects": [[]],
    "audit verify": [[]],
    "audit witness accept": [["cortex.local/0", "--key", "none"]],
    "audit witness add": [["other", "--url", "https://witness.invalid"]],
    "audit witness init": [["planted"]],
    "audit witness list": [[]],
    "audit witness logs": [[]],
    "audit witness remove": [["other"]],
    "audit witness serve": [["--port", "none"]],
    "backup": [["../backup"]],
    "blobs gc": [[]],
    "cache clear": [[]],
    "cache stats": [[]],
    "ctx check": [["data.json", "data.ctx"]],
    "ctx decode": [["data.ctx"]],
    "ctx encode": [["data.json"]],
    "ctx stats": [["data.json"]],
    "debug": [["{execution}"]],
    "diff": [["1", "2"], [".cortex", ".cortex"]],
    "doctor": [["--load"]],
    "down": [[]],
    "events drop": [["1"]],
    "directive branch": [["try"]],
    "directive export": [["-"]],
    "directive history": [[]],
    "directive import": [["missing.json"]],
    "directive merge": [["none"]],
    "directive pin": [["vim"]],
    "directive preview": [["use vim"]],
    "directive redo": [[]],
    "directive repl": [[]],
    "directive scopes": [[]],
    "directive state": [[]],
    "directive step": [["use vim"]],
    "directive undo": [[]],
    "events parked": [[]],
    "events query": [[]],
    "events retry": [["1"]],
    "events schema": [["--asyncapi"]],
    "events tail": [[]],
    "execution approve": [["{execution}"]],
    "execution break": [["{execution}", "say"]],
    "execution cancel": [["{execution}"]],
    "execution do": [["{execution}", "run_tests"]],
    "execution edit": [["{execution}", "--replace", "a", "b"]],
    "execution find": [["read"]],
    "execution finish": [["{execution}"]],
    "execution list": [[]],
    "execution pause": [["{execution}"]],
    "execution rate": [["{execution}", "good"]],
    "execution resume": [["{execution}"]],
    "execution show": [["{execution}"]],
    "export": [["-"]],
    "import": [["missing.jsonl", "--home", "../imported"]],
    "fork": [["{execution}", "--from", "diagnose", "-y"]],
    "gc explain": [["none"]],
    "gc run": [[]],
    "gc stats": [[]],
    "init": [["again"]],
    "knowledge find": [["cart"]],
    "knowledge index": [[]],
    "knowledge list": [[]],
    "knowledge stats": [[]],
    "log seal": [["--dry-run"]],
    "log segments": [[]],
    "log state": [[]],
    "memory after": [["none"]],
    "memory blame": [["{execution}"]],
    "memory consolidate": [[]],
    "memory consolidations": [[]],
    "memory constraints": [["cart"]],
    "memory correct": [["none", "other"]],
    "memory export": [["-"]],
    "memory forget": [["none"]],
    "memory import": [["missing.jsonl"]],
    "memory inspect": [["none"]],
    "memory link": [["none", "refines", "other"]],
    "memory list": [[]],
    "memory pin": [["none"]],
    "memory record": [["observation", "the cart is empty"]],
    "memory restore": [["none"]],
    "memory reword": [["none", "--draft", "missing.txt"]],
    "memory search": [["cart"]],
    "memory undo": [["none"]],
    "memory view": [["cart"]],
    "memory why": [["none"]],
    "package compile": [["none"]],
    "package list": [[]],
    "package show": [["none"]],
    "package suggestions": [[]],
    "model check": [[]],
    "model list": [[]],
    "model why": [["{execution}", "diagnose"]],
    "plugin dev": [["."]],
    "plugin info": [["webhook", "--unconfined"], ["evil", "--unconfined"]],
    "plugin list": [[]],
    "plugin load": [["webhook", "-y", "--unconfined"], ["evil", "-y", "--unconfined"]],
    "plugin logs": [["webhook"]],
    "plugin new": [["planted"]],
    "plugin reload": [["webhook", "-y"]],
    "plugin unload": [["webhook"]],
    "process diff": [["planted"]],
    "process dry-run": [["planted"]],
    "process find": [["planted"]],
    "process history": [["planted"]],
    "process inspect": [["planted"]],
    "process list": [[]],
    "process validate": [[".cortex/processes"]],
    "projections list": [[]],
    "projections rebuild": [["executions"]],
    "projections verify": [[]],
    "prompt diff": [["{prompt}", "{prompt}"]],
    "prompt list": [[]],
    "prompt show": [["{prompt}", "--rebuild"]],
    "prompt stats": [[]],
    "prompt why": [["read"]],
    "replay": [[], ["{execution}"]],
    "restore": [["../backup", "--home", "../restored"]],
    "run": [["planted"], [*TRIAGE], ["--goal", "say hello", "-y", "-q"]],
    "status": [["--all"]],
    "trace": [["{execution}"]],
    "trigger": [["source=test", "-y"]],
    "trust": [["--show"]],
    "up": [["--listen", "nonsense://"]],  # in the background: by the fixture
    "what-if": [["{execution}"], ["{execution}", "--persona", "Other.", "-y"]],
    "worker": [["cortex.actors.gates:FileExists"], ["json:Evil"]],
}
WITH_HUB = (
    *("run", "trigger", "process list", "knowledge index", "knowledge find", "plugin load"),
    *("plugin info", "plugin reload", "plugin unload", "execution resume", "status", "events tail"),
)


class Checkout:
    """A folder with planted files and a home, and what was run of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        self.folder.mkdir()
        self._marker = folder / "ran"
        self._marker.touch()
        self.env = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
        # As where somebody writes `PATH=$UNSET:...`: the empty entry is the working folder.
        self.env |= {"PATH": f":{os.environ['PATH']}"}
        for name in ("CORTEX_HOME", "CORTEX_DEBUG", "PYTHONSAFEPATH", "PYTHONPATH"):
            self.env.pop(name, None)
        self.words: dict[str, str] = {"execution": "none", "prompt": "none"}

    def plant(self) -> None:
        code = f"open({str(self._marker)!r}, 'a').write(__name__ + '\\n')\n"
        for name in PLANTED:
            (self.folder / f"{name}.py").write_text(code)
        package = self.folder / "cortex"
        package.mkdir()
        (package / "__init__.py").write_text(code)
        (self.folder / "evil.pth").write_text(f"import sys; {code}")
        install(self.folder, "evil", commands="evil = json:main", plugins="evil = json:PLUGIN")
        for name in PROGRAMS:
            program = self.folder / name
            program.write_text(f"#!/bin/bash\necho {name} >> {self._marker}\nexit 1\n")
            program.chmod(0o755)

    def ran(self) -> list[str]:
        """What was run since this was last asked."""
        said = self._marker.read_text().split()
        self._marker.write_text("")
        return said

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        words = [word.format(**self.words) for word in args]
        return subprocess.run(
            [str(CORTEX), *words],
            cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=STUCK_S,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def document(self, *args: str) -> Any:
        done = self.run(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    made = Checkout(tmp_path_factory.mktemp("planted"))
    made.run("init")
    (made.folder / ".cortex" / "processes" / "planted.yaml").write_text(PROCESS)
    (made.folder / ".cortex" / "knowledge" / "cart.md").write_text("# Cart\nIt sums.\n")
    (made.folder / "failure.log").write_text(LOG)
    (made.folder / "data.json").write_text('[{"a": 1}]')
    (made.folder / "data.ctx").write_text(made.run("ctx", "encode", "data.json").stdout)
    (made.folder / "src").mkdir()
    (made.folder / "src" / "cart.py").write_text("def add(a, b): return a - b\n")
    made.run("process", "validate")  # before it is committed, or it might as well have been pulled
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "all")):
        subprocess.run(["git", *_AUTHOR, *words], cwd=made.folder, check=True)
    made.plant()
    try:
        yield made
    finally:
        made.run("down", "--kill")


_AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@b")


def test_there_is_a_line_for_every_command() -> None:
    assert sorted(COMMANDS) == sorted(" ".join(path) for path in _leaves(root, ()))


@pytest.mark.timeout(1_200)  # each command in full, one after the other
def test_no_command_runs_a_planted_module_in_one_process_or_its_children(
    checkout: Checkout,
) -> None:
    done = checkout.document("run", *TRIAGE)
    checkout.words["execution"] = done["id"]
    checkout.words["prompt"] = checkout.document("prompt", "list")[0]["prompt"]

    ran: dict[str, list[str]] = {"run": checkout.ran()}
    for name, calls in COMMANDS.items():
        for args in calls:
            checkout.run(*name.split(), *args)
            ran.setdefault(f"{name} {args}", []).extend(checkout.ran())

    assert {name: what for name, what in ran.items() if what} == {}


def test_no_hub_in_the_background_worker_or_plugin_runs_a_planted_module(
    checkout: Checkout,
) -> None:
    checkout.document("up", "--background")
    worker = subprocess.Popen(
        [str(CORTEX), "worker", "cortex.actors.gates:FileExists", "--name", "ann"],
        cwd=checkout.folder, env=checkout.env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        ran = {"up": checkout.ran()}
        for name in WITH_HUB:
            for args in COMMANDS[name]:
                checkout.run(*name.split(), *args)
                ran.setdefault(f"{name} {args}", []).extend(checkout.ran())
    finally:
        worker.terminate()
        worker.communicate()
    assert checkout.run("down").returncode == 0
    ended = {each["process"]: each["status"] for each in checkout.document("execution", "list")}
    ran["down"] = checkout.ran()

    assert ended["planted"] == ended["triage_ci_failure"] == "completed"
    assert {name: what for name, what in ran.items() if what} == {}


STARTERS = {"exec", "spawn", "fork", "posix_spawn", "system", "popen", "startfile"}  # of os
BANNED = {"multiprocessing", "runpy", "pty", "code", "pickle", "shelve", "marshal"}
POOLS = {"ProcessPoolExecutor", "create_subprocess_exec", "create_subprocess_shell"}
SHOWN = {  # what names the interpreter without starting it
    "runtime/isolation/child.py": "the one function",
    "runtime/serving/doctor/checks.py": "doctor says which Python this is",
}
# Without `env=` a child gets every variable of ours.
STARTS = {"Popen", "run", "call", "check_call", "check_output"}


def test_nothing_else_starts_an_interpreter_or_hands_on_the_whole_environment() -> None:
    found: list[str] = []
    for name, tree in _modules():
        for node in ast.walk(tree):
            problem = _problem(name, node)
            if problem:
                found.append(f"{name}:{getattr(node, 'lineno', 0)} {problem}")

    assert found == []


def _problem(name: str, node: ast.AST) -> str:
    match node:
        case ast.Import(names=names) if {n.name.split(".")[0] for n in names} & BANNED:
            return "imports what starts processes in ways of its own"
        case ast.ImportFrom(module=module, level=0) if (module or "").split(".")[0] in BANNED:
            return "imports what starts processes in ways of its own"
        case ast.ImportFrom(module="subprocess" | "os", names=names) if {n.name for n in names} & (
            STARTS | STARTERS
        ):
            return "imports a starter by its own name: this test would not see it"
        case ast.Attribute(value=ast.Name(id="sys"), attr="executable" | "_base_executable"):
            return "" if name in SHOWN else "names the interpreter: use `interpreter`"
        case ast.Attribute(value=ast.Name(id="os"), attr=attr) if attr.rstrip("vlpe") in {
            s.rstrip("vlpe") for s in STARTERS
        }:
            return "starts a process past subprocess"
        case ast.Attribute(attr=attr) | ast.Name(id=attr) if attr in POOLS:
            return "starts processes in ways of its own"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="subprocess"), attr=attr)) if (
            attr in STARTS and not {"env"} & {k.arg for k in node.keywords}
        ):
            return "starts a program with the whole environment: give `env=`"
        case (
            ast.List(elts=[ast.Constant(value=first), *_])
            | ast.Tuple(elts=[ast.Constant(value=first), *_])
        ) if name.startswith(("bus/", "runtime/", "plugins/")) and str(first).startswith("python"):
            return "names a Python on the search path"
    return ""


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for layer in ("bus", "runtime", "actors", "plugins"):
        folder = Path(str(files(f"cortex.{layer}")))
        for path in sorted(folder.rglob("*.py")):
            text = path.read_text("utf-8")
            yield f"{layer}/{path.relative_to(folder).as_posix()}", ast.parse(text)


def _leaves(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _leaves(inner, (*path, name))
