"""Why a tool is not there is said with the name of its server."""

import pytest

from cortex.bus.events import ToolListed
from cortex.runtime.registry import NO_SDK, NOT_YET, Registry, evolve


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (NOT_YET, f"slow: {NOT_YET}"),
        ("slow: its command is not installed", "slow: its command is not installed"),
        ("it is not in config.toml", "slow: it is not in config.toml"),
        (NO_SDK, NO_SDK),  # of all servers
        ("", ""),
    ],
)
@pytest.mark.parametrize("entry", ["slow", "slow.*", "slow.look"])
def test_a_reason_names_the_server_that_it_is_about(entry: str, reason: str, said: str) -> None:
    registry = evolve(Registry(), ToolListed(server="dead", reason="dead: it ended"))
    registry = evolve(registry, ToolListed(server="slow", reason=reason))

    assert registry.why_not(entry) == said


def test_a_server_that_offers_something_and_one_that_nobody_knows_lack_for_no_reason() -> None:
    listed = ToolListed(server="slow", tools=({"name": "look"},), reason="one was left out")
    registry = evolve(Registry(), listed)

    assert [registry.why_not(each) for each in ("slow.see", "other.look")] == ["", ""]
