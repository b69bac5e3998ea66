"""While a hub is up, knowledge that changes is indexed without anybody asking."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from cortex.bus.events import KnowledgeIndexed, KnowledgeRemoved
from cortex.runtime.kernel import Home
from cortex.runtime.serving import Service, connected

PATIENCE_S = 60.0


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def is_watched() -> bool:
    return any(thread.name == "cortex-knowledge" for thread in threading.enumerate())


def recorded(home: Home) -> tuple[list[str], list[str]]:
    """Topics that were indexed, and paths that were said to be gone."""
    with connected(home) as client:
        events = [client.vocabulary.read(record) for record in client.read()]
    indexed = [e for e in events if isinstance(e, KnowledgeIndexed)]
    removed = [e for e in events if isinstance(e, KnowledgeRemoved)]
    return (
        [str(file["topic"]) for event in indexed for file in event.files],
        [path for event in removed for path in event.paths],
    )


def test_a_hub_that_is_up_indexes_what_changes_and_leaves_no_thread_behind(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    page = home.knowledge / "ops" / "parking.md"

    def changed() -> bool:
        # Until it is seen: the watch begins a moment after the hub is up.
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"# Parking\n\nThe garage closes at {time.monotonic()}.\n")
        time.sleep(0.2)
        return "ops.parking" in recorded(home)[0]

    with Service(home):
        until(changed)
        page.unlink()
        until(lambda: str(page) in recorded(home)[1])

    assert not is_watched()


def test_nothing_is_watched_where_it_is_switched_off(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    (home.path / "config.toml").write_text("[knowledge]\nwatch = false\n")

    with Service(home):
        assert not is_watched()
