"""Homes that earlier versions made, unpacked as if their user had upgraded Cortex since."""

import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from cortex.runtime.access.trust import give_trust
from cortex.runtime.kernel import Home

from .command_lines import CORTEX, environment

HOMES = Path(__file__).parents[1] / "fixtures" / "homes"
VERSIONS = sorted(
    path.name for path in HOMES.iterdir() if path.is_dir() and path.name != "processes"
)
MISSING = Path("/tmp/cortex-fixture-home.txt")  # two executions of each `rested` wait for it
BEGAN = Path("/tmp/began.txt")  # a shell step of each `killed` writes a line here when it begins
STUCK_S = 120.0


class OldHome:
    """A home of *version*, in a folder of its own."""

    def __init__(self, version: str, name: str, folder: Path) -> None:
        self.folder = folder
        self.facts: dict[str, str] = json.loads((HOMES / version / "facts.json").read_text())[name]
        with tarfile.open(HOMES / version / f"{name}.tar.xz") as archive:
            archive.extractall(folder)
        for path in (folder / ".cortex").rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
        (folder / ".cortex").chmod(0o700)
        shutil.copy(HOMES / "steps.py", folder)
        # No version before kept trust: the user is asked once, and says that the home is their own.
        give_trust(folder / ".cortex", by="a test", own=True)
        self.home = Home(folder / ".cortex")
        self.env = environment(folder)

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        """One command, to its end."""
        return subprocess.run(
            [str(CORTEX), *args], cwd=self.folder, env=self.env, text=True, check=False,
            capture_output=True, stdin=subprocess.DEVNULL, timeout=STUCK_S,
        )  # fmt: skip

    def json(self, *args: str) -> Any:
        """The document that a command prints."""
        done = self.run(*args, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def worker(self, component: str) -> "subprocess.Popen[str]":
        """A worker that is ready, beside a hub that is up."""
        process = subprocess.Popen(
            [str(CORTEX), "worker", "--path", ".", component],
            cwd=self.folder, env=self.env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready"), process.communicate()
        return process

    def shown(self, fact: str) -> Any:
        """The document of the execution that *fact* names."""
        return self.json("execution", "show", self.facts[fact])

    def status(self, fact: str) -> str:
        """How the execution that *fact* names stands."""
        return str(self.shown(fact)["status"])

    def resume(self, fact: str, *args: str) -> Any:
        """Go on with an execution; the document that says how it stands then."""
        return self.json("execution", "resume", self.facts[fact], *args)
