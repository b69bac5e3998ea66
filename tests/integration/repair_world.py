"""Real checkouts with a failing test, and the handlers that repair them."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cortex.actors.handlers import CommitAndPush, RunTests, WriteCode
from cortex.bus import Event
from cortex.bus.events import VOCABULARY, StepCompleted, StepExecute, StepFailed
from cortex.runtime.kernel import Config, Delivery, Home
from cortex.runtime.log import MemoryBlobs

NOON_NS = 1_700_000_000_000_000_000
WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
CART = """\
def total(prices):
    result = 0
    for price in prices:
        result -= price
    return result
"""
CART_TEST = """\
import unittest

from cart import total


class CartTest(unittest.TestCase):
    def test_total_adds_up(self):
        self.assertEqual(total([1, 2]), 3)


if __name__ == "__main__":
    unittest.main()
"""
FIX = {"path": "cart.py", "old": "        result -= price\n", "new": "        result += price\n"}
WRONG = {"path": "cart.py", "old": "    result = 0\n", "new": "    result = 1\n"}


def git(folder: Path, *words: str) -> str:
    """What git says in *folder*."""
    ended = subprocess.run(
        ["git", "-C", str(folder), *WHO, *words], check=True, capture_output=True, text=True
    )
    return ended.stdout


def repository(folder: Path, files: dict[str, str]) -> Path:
    """A checkout with one commit that holds *files*."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of the user's, by path, without what git and Cortex keep for themselves."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".git", ".cortex"} & set(path.relative_to(folder).parts)
    }


class Bench:
    """The handlers of a repair in one home, called as functions."""

    def __init__(self, folder: Path, workspace: Path, config: Config | None = None) -> None:
        self.home = Home.create(folder / ".cortex")
        self.workspace = workspace
        self.blobs = MemoryBlobs()
        self.write_code = WriteCode(self.home, self.blobs)
        self.run_tests = RunTests(config or Config(), self.blobs, self.home)
        self.commit_and_push = CommitAndPush(
            self.home, VOCABULARY, lambda _stream: iter(()), config or Config()
        )
        self.worktree = self.home.path / "worktrees" / "e1"

    def write(self, *edits: dict[str, str], position: int = 7, **parameters: Any) -> Event:
        """What `write_code` says of a model's edits."""
        answer = {"text": "", "data": {"summary": "Add up", "edits": list(edits)}}
        event = self.event("write_code", "implement_fix", parameters, answer=answer)
        return only(self.write_code.execute(event, self.delivery(position)))

    def test(self, position: int = 8, **parameters: Any) -> Event:
        """What `run_tests` says."""
        event = self.event("run_tests", "verify", parameters)
        return only(self.run_tests.execute(event, self.delivery(position)))

    def commit(self, step_id: str = "commit", position: int = 9, **parameters: Any) -> Event:
        """What `commit_and_push` says."""
        event = self.event("commit_and_push", step_id, parameters)
        return only(self.commit_and_push.execute(event, self.delivery(position)))

    def event(
        self, action: str, step_id: str, parameters: dict[str, Any], **fields: Any
    ) -> StepExecute:
        """A request for one step of the execution e1."""
        return StepExecute(
            execution_id="e1",
            step_id=step_id,
            action=action,
            parameters=parameters,
            workspace=str(self.workspace),
            goal="Make the build green",
            **fields,
        )

    @staticmethod
    def delivery(position: int) -> Delivery:
        """What a handler may know beside its event."""
        return Delivery(position, NOON_NS + position, "Tested", "tester", "e1", 1, 1)


def only(events: Iterable[Event]) -> Event:
    """The one answer of a handler."""
    (event,) = events
    return event


def done(event: Event) -> StepCompleted:
    """The answer of a handler that carried its step out."""
    assert isinstance(event, StepCompleted), event
    return event


def refused(event: Event) -> StepFailed:
    """The answer of a handler that could not: one clear line."""
    assert isinstance(event, StepFailed), event
    assert event.error
    assert "\n" not in event.error
    assert len(event.error) < 1_000
    return event
