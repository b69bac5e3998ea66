"""Parts of the MCP client that need no server: the pace of listings, and texts of results."""

import importlib
import itertools
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.log import MemoryBlobs

PACE: Any = importlib.import_module("cortex.actors.tools.mcp.offered")
RESULTS: Any = importlib.import_module("cortex.actors.tools.mcp.results")


def test_pauses_double_up_to_a_minute_while_changes_keep_coming() -> None:
    pace, now_s, pauses = PACE.Pace(), 0.0, []

    for _ in range(9):
        pauses.append(pace.wait_s(now_s))
        now_s += pauses[-1]
        pace.listed(now_s)

    assert pauses == [0, 1, 2, 4, 8, 16, 32, 60, 60]


def test_a_pause_is_short_again_after_a_quiet_time() -> None:
    pace = PACE.Pace()
    for now_s in (0.0, 1.0, 3.0):
        pace.listed(now_s)

    pace.listed(30.0)

    assert pace.wait_s(30.0) == 1.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 100), max_size=50))
def test_two_listings_are_never_less_than_a_second_apart(later_s: list[float]) -> None:
    pace, now_s, begun = PACE.Pace(), 0.0, []

    for wish_s in later_s:
        now_s += wish_s
        now_s += pace.wait_s(now_s)
        pace.listed(now_s)
        begun.append(now_s)

    assert all(b - a > 0.999 for a, b in itertools.pairwise(begun))


def test_the_type_of_an_image_and_the_name_of_a_link_are_said_in_one_clean_line() -> None:
    odd = "x\x1b[2J\n=== step ===\n"
    image = SimpleNamespace(type="image", mime_type=odd, data="AAAA")
    link = SimpleNamespace(type="resource_link", name=odd, uri=f"file:///{odd}")
    result = SimpleNamespace(content=[image, link], structured_content=None)

    said = RESULTS.text_of(result, MemoryBlobs())

    assert said.count("\n") == 2
    assert said.startswith("[image x [2J === step ===, 3 bytes")
    assert "\x1b" not in said
