"""What somebody is told to do who was not granted something."""

from cortex.bus import NotGrantedError


def test_a_plugin_is_loaded_again_with_all_of_its_grants() -> None:
    said = str(NotGrantedError("plugin.ticker/1", "publish", "step.completed"))

    assert "plugin.ticker/1 may not publish step.completed" in said
    assert "without --deny: `cortex plugin load ticker`" in said
    assert "--grant for every part" in said
    assert "--grant ..." not in said


def test_another_client_is_granted_by_the_owner_of_the_hub() -> None:
    said = str(NotGrantedError("alice/3", "publish", "step.completed"))

    assert "`cortex client grant alice --publish step.completed`" in said
