"""How a plugin is loaded from the command line: inspect it, confirm, record, and wait."""

from collections.abc import Sequence

from cortex.bus import Event, steady_s
from cortex.bus.events import (
    PluginCrashed,
    PluginDenied,
    PluginLoad,
    PluginLoaded,
    PluginUnload,
    PluginUnloaded,
)
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.serving import PluginFared, plugin_after
from cortex.runtime.serving.doctor import failing_of, with_failures
from cortex.runtime.sessions import Session

from ..checking import Description, described
from ..errors import PluginRefusedError
from ..host import describe
from ..installed import Installed, manifest_here

PATIENCE_S = 90.0  # a plugin's process, and its walls, may take their time on a busy machine


def looked_at(
    plugin: Installed, home: Home, *, unconfined: bool, logged: bool = False
) -> Description:
    """The manifest of a plugin; its code runs in an isolated process, unless Cortex ships it.

    If that fails, its output (mostly a traceback) goes to its log if *logged*.

    Raises:
        UnconfinedError: There is no sandbox here, and *unconfined* is false.
        PluginRefusedError: It has no readable manifest.
    """
    if plugin.built_in:
        return described(manifest_here(plugin))
    return describe(plugin, home.path, confined=not unconfined, logged=logged)


def fared(history: History, name: str) -> PluginFared:
    """The status of a plugin, from its events."""
    found = PluginFared()
    for record in history.stream(f"plugin/{name}"):
        event = history.event(record)
        found = found if event is None else plugin_after(found, event)
    return with_failures(found, failing_of(history))


def load_of(
    found: Description,
    granted: Sequence[str],
    plugin: Installed,
    *,
    beside: bool,
    unconfined: bool,
    start: str = "",
) -> PluginLoad:
    """The request that loads a plugin with what was confirmed."""
    in_runtime = beside or plugin.built_in
    return PluginLoad(
        plugin=plugin.name,
        version=found.manifest.version,
        digest=found.manifest.digest(),
        granted=tuple(granted),
        denied=tuple(part for part in found.manifest.parts() if part not in granted),
        place="runtime" if in_runtime else "process",
        confined=not (unconfined or plugin.built_in),
        package=plugin.package,
        limits=found.manifest.limits.bounds(),
        effects=dict(found.manifest.effects),
        start=start,
    )


def settled(session: Session, event: PluginLoad | PluginUnload) -> PluginLoaded | PluginUnloaded:
    """Record *event* and wait for its outcome.

    Raises:
        PluginRefusedError: It was denied, crashed, or had no outcome in time.
    """
    feed = session.client.follow(("plugin.*", None))
    wanted = PluginLoaded if isinstance(event, PluginLoad) else PluginUnloaded
    try:
        asked = session.publish(event)
        until = steady_s() + PATIENCE_S
        while steady_s() < until:
            for record in feed.next(0.5):
                answer = session.client.vocabulary.read(record)
                if record.position <= asked or getattr(answer, "plugin", "") != event.plugin:
                    continue
                if isinstance(answer, wanted):
                    return answer
                _refuse(answer)
            session.check()
    finally:
        feed.close()
    raise PluginRefusedError(
        f"there was no result within {PATIENCE_S:g} s: look at `cortex plugin logs {event.plugin}`"
    )


def _refuse(answer: Event) -> None:
    if isinstance(answer, PluginDenied) and answer.kept:
        raise PluginRefusedError(
            f"plugin {answer.plugin} was not reloaded, and the loaded version continues: "
            f"{answer.reason} (`cortex plugin logs {answer.plugin}` says more)"
        )
    if isinstance(answer, PluginDenied) and not answer.part:
        raise PluginRefusedError(f"plugin {answer.plugin} was not loaded: {answer.reason}")
    if isinstance(answer, PluginCrashed):
        again = "" if answer.given_up else f"; it is tried again in {answer.again_s:g} s"
        raise PluginRefusedError(
            f"plugin {answer.plugin} crashed: {answer.reason}{again} "
            f"(`cortex plugin logs {answer.plugin}` says more)"
        )
