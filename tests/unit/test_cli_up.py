"""What `cortex up` says of the home that it serves."""

import pytest

from cortex.runtime.serving import PluginFared
from cortex.runtime.serving.doctor import plugin_line


@pytest.mark.parametrize("state", ["failing", "crashed", "denied", "given up"])
def test_a_plugin_that_does_not_do_its_work_is_yellow_as_other_warnings_are(state: str) -> None:
    line, style = plugin_line("notes", PluginFared(state, reason="no such file"))

    assert line == f"plugin     notes {state}: no such file"
    assert style == "yellow"


@pytest.mark.parametrize("state", ["loading", "loaded", "starting"])
def test_a_plugin_that_is_well_or_starts_has_no_colour(state: str) -> None:
    assert plugin_line("notes", PluginFared(state)) == (f"plugin     notes {state}", "")
