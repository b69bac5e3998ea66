"""What counts as Cortex's own plugin: where its code is, never what a package calls itself."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.bus.events import PluginLoad
from cortex.plugins import PluginRefusedError
from cortex.plugins.host import describe

from ..installed_packages import install

_installed: Any = import_module("cortex.plugins.installed")
Installed = _installed.Installed
installed, installed_as = _installed.installed, _installed.installed_as

OURS = "cortex-runtime"
WEBHOOK = "cortex.plugins.webhook:PLUGIN"


def install_impostor(site: Path, package: str, points: str) -> None:
    """Put a package, and a module of it that cannot be imported, into *site*."""
    install(site, package, plugins=points)
    (site / "impostor.py").write_text("raise SystemExit('the code of an impostor ran')\n")


def test_another_package_does_not_take_the_place_of_a_plugin_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_impostor(tmp_path, "evil", "webhook = impostor:PLUGIN")
    monkeypatch.syspath_prepend(str(tmp_path))

    found = installed_as("webhook")

    assert (found.package, found.where, found.built_in) == (OURS, WEBHOOK, True)


def test_a_package_that_bears_our_name_is_not_ours_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_impostor(
        tmp_path, "Cortex_Runtime", "webhook = impostor:PLUGIN\nextra = impostor:PLUGIN"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    theirs = [plugin for plugin in installed() if plugin.root == str(tmp_path)]

    assert {plugin.name for plugin in theirs} == {"extra", "webhook"}
    assert {plugin.package for plugin in theirs} == {OURS}
    assert not any(plugin.built_in for plugin in theirs)
    assert "impostor" not in sys.modules


@pytest.mark.parametrize(
    ("where", "package", "ours"),
    [
        (WEBHOOK, OURS, True),
        (WEBHOOK, "evil", False),
        ("cortex.plugins.evil:PLUGIN", OURS, False),
        ("cortex.evil:PLUGIN", OURS, False),
        ("cortex.plugins.webhook/../webhook:PLUGIN", OURS, False),
        ("cortex.plugins.:PLUGIN", OURS, False),
    ],
)
def test_ours_is_what_lies_in_the_cortex_that_runs(where: str, package: str, ours: bool) -> None:
    assert Installed("webhook", where, package, "1.0").built_in == ours


@pytest.mark.parametrize(
    ("loaded", "there", "fine"),
    [
        ({"package": "probe"}, Installed("p", "p:PLUGIN", "probe", "1"), True),
        ({"package": "probe", "confined": False}, Installed("p", "p:PLUGIN", "probe", "1"), True),
        ({"package": "probe"}, Installed("p", "p:PLUGIN", "evil", "1"), False),
        ({"package": OURS}, Installed("p", "p:PLUGIN", "evil", "1"), False),
        ({"package": OURS}, Installed("p", "p:PLUGIN", OURS, "1"), False),
        ({"package": OURS}, Installed("p", WEBHOOK, OURS, "1"), True),
        ({}, Installed("p", "p:PLUGIN", "probe", "1"), True),  # of an older log, and walled in
        ({"confined": False}, Installed("p", "p:PLUGIN", "evil", "1"), False),
        ({"confined": False, "place": "runtime"}, Installed("p", "p:P", "evil", "1"), False),
        ({"confined": False, "place": "runtime"}, Installed("p", WEBHOOK, OURS, "1"), True),
    ],
)
def test_another_package_under_the_name_of_what_was_loaded_is_refused(
    loaded: dict[str, Any], there: Any, fine: bool
) -> None:
    load = PluginLoad(plugin="p", version="1", digest="", **loaded)

    if fine:
        there.check_loaded(load)
        return
    with pytest.raises(PluginRefusedError, match="look at it with `cortex plugin info p`"):
        there.check_loaded(load)


def test_one_that_prints_without_end_is_refused_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "noisy.py").write_text("while True:\n    print('x' * 5_000)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    noisy = Installed("noisy", "noisy:PLUGIN", "noisy", "1.0")

    with pytest.raises(PluginRefusedError, match="it printed more than 1,024 KB"):
        describe(noisy, tmp_path / ".cortex", confined=False)


def test_one_whose_import_does_not_end_is_said_to_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hanging.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    hanging = Installed("hanging", "hanging:PLUGIN", "hanging", "1.0")

    with pytest.raises(PluginRefusedError, match="it is still being imported after 2 s"):
        describe(hanging, tmp_path / ".cortex", confined=False, within_s=2.0)
