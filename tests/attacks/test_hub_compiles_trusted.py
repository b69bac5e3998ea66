"""A hub that is up compiles nothing that version control brought until its user trusts that."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.bus.events import ProcessAnswer, ProcessList, TriggerReceived
from cortex.runtime.access.trust import UntrustedHomeError, give_trust
from cortex.runtime.kernel import Home
from cortex.runtime.serving import Service, connected

from ..waiting import until

EVIL = """process: {0}
version: 1
trigger: {{ type: event, match: {{ source: push }} }}
steps:
  - {{ id: a, action: shell, with: {{ run: [touch, "{1}"] }} }}
"""
LONG_S = 120.0


def git(folder: Path, *words: str) -> None:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, env=env, capture_output=True, check=True)


@pytest.fixture
def mine() -> Iterator[Home]:
    """A clone whose home was trusted, of a repository that has another process by now."""
    folder = Path(tempfile.mkdtemp(prefix="cx"))  # short: a socket's path has a bound
    theirs = folder / "t"
    home = theirs / ".cortex"
    (home / "processes").mkdir(parents=True)
    (home / "processes" / "first.yaml").write_text(EVIL.format("first", folder / "first"))
    git(theirs, "init", "-q", "-b", "main")
    git(theirs, "add", "-f", ".cortex")
    git(theirs, "commit", "-q", "-m", "x")
    git(folder, "clone", "-q", str(theirs), "m")
    (home / "processes" / "second.yaml").write_text(EVIL.format("second", folder / "second"))
    git(theirs, "add", "-f", ".cortex")
    git(theirs, "commit", "-q", "-m", "y")
    cloned = Home(folder / "m" / ".cortex")
    cloned.path.chmod(0o700)
    give_trust(cloned.path, by="a test")
    yield cloned
    shutil.rmtree(folder)


def test_what_a_pull_brings_under_a_hub_is_not_compiled_until_it_is_trusted(mine: Home) -> None:
    with Service(mine), connected(mine) as client:

        def compiled() -> set[str]:
            answer = client.ask(ProcessList())
            assert isinstance(answer, ProcessAnswer)
            return {each["name"] for each in answer.processes} & {"first", "second"}

        before = compiled()
        git(mine.workspace, "pull", "-q", "origin", "main")
        with pytest.raises(UntrustedHomeError):
            mine.require_trust()
        time.sleep(2.0)  # the watch tells of it within half a second
        untrusted = compiled()
        client.publish(TriggerReceived(trigger_id="t", fields={"source": "push"}))
        until((mine.workspace.parent / "first").exists)
        give_trust(mine.path, by="a test")
        until(lambda: compiled() == {"first", "second"})

    assert before == untrusted == {"first"}
    assert not (mine.workspace.parent / "second").exists()
