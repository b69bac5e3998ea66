"""Files that vanish while a home is looked at: another process commits, or an editor saves."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from cortex.runtime.access.trust import acting_in, digest_at

LOOKS = 2_000  # each of these files was caught within 40


@contextmanager
def coming_and_going(place: Path) -> Iterator[None]:
    enough = Event()

    def write_and_remove() -> None:
        while not enough.is_set():
            place.write_text("x")
            place.unlink()

    writer = Thread(target=write_and_remove)
    writer.start()
    try:
        yield
    finally:
        enough.set()
        writer.join()


@pytest.mark.parametrize("name", ["log.db-journal", "keys/new", "edited.toml", "plugins/a.toml"])
def test_a_file_that_vanishes_under_the_look_is_no_fault_of_the_home(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    stays = tmp_path / "config.toml"
    stays.write_text("[models]\n")

    with coming_and_going(tmp_path / name):
        for _ in range(LOOKS):
            assert "config.toml" in acting_in(tmp_path).files
            assert digest_at(tmp_path)
