"""While a hub is up, knowledge that changes is indexed without anybody asking."""

import os
import threading
import time
from pathlib import Path

import pytest

from cortex.bus.events import KnowledgeIndexed, KnowledgeRemoved
from cortex.runtime.kernel import Home
from cortex.runtime.serving import Service, connected

from ..waiting import until

PATIENCE_S = 120.0


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


def test_a_name_that_is_not_text_and_links_out_of_the_root_hold_up_no_other_file(
    tmp_path: Path,
) -> None:
    home = Home.create(tmp_path / ".cortex")
    bad = os.fsencode(home.knowledge)
    elsewhere = tmp_path / "elsewhere"
    try:
        os.mkdir(bad + b"/fold\xff")  # noqa: PTH102 - no Path of bytes
    except OSError:
        pytest.skip("this file system takes text names only")
    (home.knowledge / "team").mkdir()
    (home.knowledge / "team" / "rootlink").symlink_to("/")
    elsewhere.mkdir()
    (home.knowledge / "beside").symlink_to(elsewhere)
    page = home.knowledge / "team" / "parking.md"

    def changed(topic: str) -> bool:
        page.write_text(f"# Parking\n\nThe garage closes at {time.monotonic()}.\n")
        time.sleep(0.2)
        return topic in recorded(home)[0]

    with Service(home):
        until(lambda: changed("team.parking"))
        with open(bad + b"/bad\xff.md", "w") as file:  # noqa: PTH123 - no Path of bytes
            file.write("# Bad name\n")
        page = home.knowledge / "made" / "later.md"
        page.parent.mkdir()
        until(lambda: changed("made.later"))
        page.unlink()
        page.parent.rmdir()
        until(lambda: str(page) in recorded(home)[1])
        page.parent.mkdir()
        page = page.with_name("again.md")
        until(lambda: changed("made.again"))


def test_nothing_is_watched_where_it_is_switched_off(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    (home.path / "config.toml").write_text("[knowledge]\nwatch = false\n")

    with Service(home):
        assert not is_watched()
