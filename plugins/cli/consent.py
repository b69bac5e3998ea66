"""Shows the requests of a plugin, all or only new ones, and asks a person to confirm them."""

from collections.abc import Mapping

import click

from cortex.bus.events import PluginLoad
from cortex.runtime.cli.extensions import Screen
from cortex.runtime.cli.terminal import has_person
from cortex.runtime.kernel import Home
from cortex.runtime.serving import PluginFared

from ..checking import Description
from ..errors import NotConfirmedError, PluginRefusedError, PluginSilentError
from ..installed import Installed, installed_as
from .documents import PluginDocument
from .loading import load_of, looked_at

MEANS = {  # what is done with it after a kill
    "none": "after a kill it is run again",
    "read": "after a kill it is run again",
    "idempotent": "after a kill it is done again, under its key",
    "once": "after a kill a person is asked what happened",
}


def document_of(found: Installed, described: Description, how: PluginFared) -> PluginDocument:
    """What a plugin asks for and may have, as it is shown."""
    manifest = described.manifest
    problems = list(described.problems)
    if manifest.name != found.name:
        problems.append(f"its entry point is {found.name!r} and it calls itself {manifest.name!r}")
    return PluginDocument(
        name=found.name,
        package=found.package,
        version=manifest.version,
        summary=manifest.summary,
        cortex=manifest.cortex,
        components=described.names,
        asks=manifest.parts(),
        granted=how.load.granted if how.load else (),
        state=how.state,
        problems=tuple(problems),
        reason=how.reason,
        failures=how.failures,
        limits=manifest.limits,
        effects=dict(manifest.effects),
    )


def confirm(
    screen: Screen,
    document: PluginDocument,
    granted: "list[str] | tuple[str, ...]",
    *,
    unconfined: bool,
) -> None:
    """Have a person confirm what is granted."""
    screen.note(
        f"{document.name} {document.version}, of {document.package}: {document.summary}".rstrip(
            ": "
        )
    )
    for part in document.asks:
        screen.note(f"  {'grant' if part in granted else 'deny ':<6} {part}")
    if not document.asks:
        screen.note("  it requests nothing")
    screen.note(f"  {document.limits.told()}")
    _note_effects(screen, document.effects)
    more = ", with --grant or --deny for parts of it"
    _ask_for(screen, document.name, more, unconfined=unconfined)


def _note_effects(screen: Screen, effects: Mapping[str, str]) -> None:
    for name, effect in effects.items():
        screen.note(f"  {name} is {effect}: {MEANS[effect]}")


def _ask_for(screen: Screen, name: str, more: str = "", *, unconfined: bool) -> None:
    """Ask whether *name* may have what was shown.

    Raises:
        NotConfirmedError: Nobody confirmed.
    """
    if unconfined:
        screen.note("  nothing confines it: these grants do not hold if it is hostile", "yellow")
    if not has_person():
        raise NotConfirmedError(
            f"no terminal is here to confirm what {name} requests: add --yes{more}"
        )
    if not click.confirm("load it so?", err=True):
        raise NotConfirmedError("nothing was loaded")


def again(
    home: Home, screen: Screen, before: PluginLoad, *, at_work: bool, yes: bool
) -> PluginLoad:
    """The request that loads a plugin's present version; a person confirms its new requests.

    Args:
        home: Where it is loaded.
        screen: Shows what is new.
        before: The last request for it.
        at_work: The running version continues in any case.
        yes: What is new needs no confirmation.

    Raises:
        PluginRefusedError: Its manifest is missing, or the requests are not confirmed.
    """
    found = installed_as(before.plugin)
    found.check_loaded(before)
    described = _described(found, home, before, at_work=at_work)
    manifest = described.manifest
    kept = [part for part in manifest.parts() if part in before.granted]
    known = (*before.granted, *before.denied)
    new = [part for part in manifest.parts() if part not in known]
    beyond = manifest.limits.beyond(before.limits)
    effects = {n: e for n, e in manifest.effects.items() if before.effects.get(n) != e}
    if not yes and (new or beyond or effects):
        screen.note(f"{found.name} {manifest.version}, of {found.package}, asks for more:")
        for part in new:
            screen.note(f"  grant  {part}")
        if beyond:
            screen.note(f"  {manifest.limits.told()}")
        _note_effects(screen, effects)
        _ask_for(screen, found.name, unconfined=not before.confined)
    return load_of(
        described,
        [*kept, *new],
        found,
        beside=before.place == "runtime",
        unconfined=not before.confined,
        start=before.start,
    )


def _described(found: Installed, home: Home, before: PluginLoad, *, at_work: bool) -> Description:
    failed = f"plugin {before.plugin} cannot be loaded"
    if at_work:
        failed = f"plugin {before.plugin} was not reloaded, and the loaded version continues"
    try:
        described = looked_at(found, home, unconfined=not before.confined, logged=True)
    except PluginSilentError as error:
        raise PluginRefusedError(f"{failed}: it {error.problem}") from error
    if described.problems:
        raise PluginRefusedError(f"{failed}: {'; '.join(described.problems)}")
    return described
