"""Whether a plugin's components match its manifest: for its tests, and before a load."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from cortex.bus import CortexError, Query
from cortex.runtime.access import SUBSCRIBE
from cortex.runtime.kernel import (
    EFFECTIVE,
    VERSION,
    Component,
    Config,
    ManifestError,
    load,
    routes_of,
)

from .granted import Granted, client_of, may_answer
from .manifest import Manifest


class Description(Struct, frozen=True):
    """A plugin as its own code describes it."""

    manifest: Manifest
    names: tuple[str, ...] = ()  # of its components, as in events and subscriptions
    problems: tuple[str, ...] = ()


def described(
    manifest: Manifest, broken: Callable[[BaseException], object] = lambda _: None
) -> Description:
    """Describe *manifest* with the components that it names, which are imported for that.

    Args:
        manifest: Of the plugin.
        broken: Called with the error of each module that could not be imported.

    Raises:
        PluginInvalidError: The manifest is wrong.
    """
    manifest.check()
    problems: list[str] = []
    names: list[str] = []
    classes: list[type[Component]] = []
    unread: set[str] = set()  # modules, each of which is one problem however many are in it
    for component in manifest.components:
        try:
            found = load(component)
            names.append(found.component_name())
            classes.append(found)
            problems += _uncovered(manifest, found)
        except ManifestError as error:
            module = component.partition(":")[0]
            if error.__cause__ is None:
                problems.append(str(error))
            elif module not in unread:
                unread.add(module)
                problems.append(f"module {module}: {error.problem}")
                broken(error.__cause__)
        except CortexError as error:
            problems.append(str(error))
    if not unread:  # otherwise it is unknown what its components serve
        problems += _effects(manifest, classes)
    if not manifest.fits(VERSION):
        problems.append(f"it works with Cortex {manifest.cortex}, and this is {VERSION}")
    problems += [f"two components are called {n}" for n in sorted(set(names)) if names.count(n) > 1]
    return Description(manifest, tuple(names), tuple(problems))


def problems_of(manifest: Manifest) -> list[str]:
    """What is wrong with a plugin, one sentence each; empty where it can be loaded.

    Raises:
        PluginInvalidError: The manifest itself is wrong.
    """
    return list(described(manifest).problems)


def _uncovered(manifest: Manifest, component: type[Component]) -> Iterator[str]:
    asked = Granted.of(manifest.parts()).permissions(client_of(manifest.name))
    for route in routes_of(component):
        topic = route.event.topic_name()
        if issubclass(route.event, Query):
            if not may_answer(asked, manifest.name, topic):
                own = f"x.{manifest.name}."
                yield f"{component.__name__} answers {topic!r}: name it in subscribes, as {own}..."
        elif not asked.allows_key(SUBSCRIBE, topic, route.key):
            pattern = f"{topic}={route.key}" if route.key else topic
            yield f"{component.__name__} handles {pattern!r}: name it in subscribes"


def _effects(manifest: Manifest, components: Sequence[type[Component]]) -> Iterator[str]:
    """What is wrong with the effects that *manifest* declares."""
    served = {
        serves.name: serves.declares()
        for component in components
        for serves in component.announces(Config())
        if serves.kind in EFFECTIVE
    }
    known = {**served, **dict.fromkeys(each.component_name() for each in components)}
    for name, effect in manifest.effects.items():
        said = known.get(name)
        if name not in known:
            there = ", ".join(known) or "none"
            yield f"effects names {name[:60]!r}, which is not one of its actions and tools: {there}"
        elif said is not None and said != effect:
            yield f"{name} declares the effect {said}, and the manifest says {effect}: remove one"
