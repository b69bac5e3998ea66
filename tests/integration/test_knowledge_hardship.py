"""What befalls a store from outside, kills and full disks, leaves no file half indexed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cortex.runtime.knowledge import Knowledge, KnowledgeConfig, Root
from cortex.runtime.retrieval import PassageStore, StoreDiskError

FILES = 210  # of 7 kB: two transactions, and so many that words are merged at the end
# Loads once, then, for each line, has a child bring a home up to date and kills it so many seconds
# later; prints how it ended.
PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from cortex.runtime.knowledge import KnowledgeConfig, Root
from cortex.runtime.knowledge import Knowledge

home, folder = map(Path, sys.argv[1:])
for line in sys.stdin:
    child = os.fork()
    if not child:
        Knowledge.open(home, [Root(str(folder), "home")], KnowledgeConfig()).update()
        os._exit(0)
    time.sleep(float(line))
    os.kill(child, signal.SIGKILL)
    print(os.waitpid(child, 0)[1], flush=True)
"""

# What a full disk is to whoever may not mount one: no file may have more than 500 kB.
LIMITED = """
import resource, sys
from pathlib import Path
from cortex.runtime.knowledge import KnowledgeConfig, Root
from cortex.runtime.retrieval import StoreDiskError
from cortex.runtime.knowledge import Knowledge

home, folder = map(Path, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
try:
    Knowledge.open(home, [Root(str(folder), "home")], KnowledgeConfig()).update()
except StoreDiskError as error:
    print(error)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "knowledge"
    root.mkdir()
    for number in range(FILES):
        (root / f"page{number}.md").write_text(page(number))
    return root


def page(number: int) -> str:
    rules = (f"Stall {number * 7 + i} opens at {i}. " * 12 for i in range(20))
    return f"# Market {number}\n\n" + "\n\n".join(rules)


def opened(home: Path, folder: Path) -> Knowledge:
    return Knowledge.open(home, [Root(str(folder), "home")], KnowledgeConfig())


def content(home: Path) -> list[tuple[str, str, tuple[tuple[str, int, str, int], ...]]]:
    """Each file with its digest and passages, and how many words of each are indexed."""
    store = PassageStore.open(home / "vectors" / "knowledge.db")
    indexed = store.connection.execute("select doc, count(*) from occurrences group by doc")
    words = dict(indexed.fetchall())
    found = []
    for file in store.files():
        chunks = store.chunks(range(file.first, file.first + file.chunks)).values()
        passages = tuple((c.heading, c.line, c.text, words.pop(c.id)) for c in chunks)
        assert len(passages) == file.chunks
        found.append((file.path, file.digest, passages))
    store.close()
    assert not words, "words of passages that are no more"
    return sorted(found)


def test_a_store_whose_indexing_was_killed_again_and_again_is_as_a_fresh_one(
    tmp_path: Path, folder: Path
) -> None:
    home, fresh = tmp_path / "home", tmp_path / "fresh"
    command = [sys.executable, "-c", PROGRAM, str(home), str(folder)]
    statuses = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for attempt in range(8):
            for number in range(attempt, FILES, 8):  # what was indexed is old now
                (folder / f"page{number}.md").write_text(page(number + attempt))
            print(0.04 * attempt, file=program.stdin, flush=True)  # wherever it is by then
            statuses.append(int(program.stdout.readline()))
        program.stdin.close()

    for knowledge in (opened(home, folder), opened(fresh, folder)):
        knowledge.update()
        assert knowledge.find("when does stall 7 of market 7 open").notes == ()
        knowledge.close()

    assert signal.SIGKILL in statuses, "it was never killed at work"
    assert content(home) == content(fresh)


@contextmanager
def disk(folder: Path, size: str) -> Iterator[None]:
    """A real file system of *size* at *folder*; the test is skipped where none may be mounted."""
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("only root may mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "cortex-test", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no small disk may be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("size", ["64k", "1m", "1500k", "1900k"])
def test_a_full_disk_is_one_line_and_what_was_indexed_before_stands(
    tmp_path: Path, folder: Path, size: str
) -> None:
    home, fresh = tmp_path / "home", tmp_path / "fresh"
    with disk(home, size):
        try:
            knowledge = opened(home, folder)
        except StoreDiskError as error:
            said = [str(error)]
        else:
            said = []
            for _ in range(2):
                with pytest.raises(StoreDiskError) as told:
                    knowledge.update()
                said.append(str(told.value))
            knowledge.find("when does stall 7 open")
            knowledge.close()
        half = {file[:2] for file in content(home)} if size != "64k" else set()
        subprocess.run(["mount", "-o", "remount,size=100m", str(home)], check=True)

        for knowledge in (opened(home, folder), opened(fresh, folder)):
            knowledge.update()
            knowledge.close()

        whole = content(home)
    assert all("make room" in line and "\n" not in line for line in said)
    assert half <= {file[:2] for file in whole}
    assert whole == content(fresh)


def test_a_file_that_may_grow_no_more_is_one_line_and_is_indexed_when_it_may(
    tmp_path: Path, folder: Path
) -> None:
    home, fresh = tmp_path / "home", tmp_path / "fresh"
    command = [sys.executable, "-c", LIMITED, str(home), str(folder)]

    done = subprocess.run(command, check=True, capture_output=True, text=True)
    for knowledge in (opened(home, folder), opened(fresh, folder)):
        knowledge.update()
        knowledge.close()

    assert done.stdout.startswith(f"the knowledge store {home}/vectors/knowledge.db cannot be used")
    assert done.stdout.count("\n") == 1
    assert content(home) == content(fresh)
