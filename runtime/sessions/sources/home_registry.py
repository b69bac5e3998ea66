"""The compiler's bindings without a runtime: services of components, and knowledge topics."""

from collections.abc import Iterator
from importlib.resources import files
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from cortex.bus import CortexError
from cortex.bus.events import ComponentAnnounced, ToolListed
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import (
    Config,
    Home,
    announcement_of,
    built_in,
    configured,
    load,
)
from cortex.runtime.knowledge import Root, TopicIndex, roots_of_home
from cortex.runtime.processes import (
    LIBRARY,
    KnowledgeTopics,
    LinkedProcess,
    Resolved,
)
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.projections import Selection
from cortex.runtime.registry import STREAM, Registry, Symbols, evolve, registry_of
from cortex.runtime.serving import found
from cortex.runtime.tools import find_skills

LISTED = Selection(topics=("tool.listed",))
TOPIC = "topic "  # before the name of a topic that an unlinked process waits for


def symbols_of(home: Home, then: Registry | None = None) -> Symbols:
    """What the components of a runtime on *home* would serve, with connected workers and plugins.

    What only the registry *then* has, that of an earlier moment, counts as well.

    For an untrusted home, only the components of Cortex count: none of its code is loaded.

    While a hub is up, these are its workers and plugins, as recorded; otherwise only its plugins,
    which start with any runtime: announcements of workers are useless without the workers.

    Raises:
        ConfigError: The home's config.toml is wrong.
        ManifestError: It names a component that cannot be loaded.
    """
    registry = _recorded(home)
    for event in _announced_here(home):
        registry = evolve(registry, event)
    if then is not None:
        registry = replace(
            registry,
            registrations={**then.registrations, **registry.registrations},
            listings={**then.listings, **registry.listings},
        )
    skills = {skill.name: skill.digest for skill in find_skills(home.path)}
    return registry.symbols(skills, [server.name for server in Config.shown(home).tools.mcp])


def preferred_for(interface: str, home: Home) -> list[str]:
    """Processes that the project's configuration and the user's name for *interface*."""
    named = (Config.shown(each).preferences for each in (home, Home.of_user()))
    return [each[interface] for each in named if interface in each]


def listed_tools(home: Home) -> tuple[ToolListed, ...]:
    """What servers of tools offer, as they said last."""
    return tuple(each.newest for each in _recorded(home).listings.values())


def announced_elsewhere(home: Home) -> tuple[ComponentAnnounced, ...]:
    """What the workers and plugins of *home* serve that a runtime on it does not serve itself.

    Raises:
        ConfigError, ManifestError: As for `symbols_of`.
    """
    here = {(event.kind, event.name) for event in _announced_here(home)}
    registrations = _recorded(home).registrations
    return tuple(each.announced for key, each in registrations.items() if key not in here)


def _announced_here(home: Home) -> Iterator[ComponentAnnounced]:
    config = Config.shown(home)
    entries = built_in() if home.untrusted_because else configured(home, config)
    for component in (load(entry.component) for entry in entries):
        for serves in component.announces(config):
            yield announcement_of(component, serves)


def _recorded(home: Home) -> Registry:
    """What counts of the log, and what its tool servers listed last."""
    if not home.path.exists():
        return Registry()
    everybody = found(home) is not None
    with History.open(home) as history:
        records = chain(history.stream(STREAM), history.select(LISTED))
        registry = registry_of(records, history.event)
    return registry.select(lambda each: everybody or bool(each.plugin))


def topics_of(home: Home) -> KnowledgeTopics:
    """The knowledge topics of a home and of the library, as the compiler asks for them."""
    return KnowledgeTopics(knowledge_topics(home))


def moved(home: Home, catalog: Catalog) -> bool:
    """Whether a topic or a skill that a process names is other than when that was linked, or gone.

    Only what the sources have now counts: nothing else is linked again.
    """
    topics = topics_of(home)
    waited_for = {
        what.removeprefix(TOPIC)
        for name, missing in catalog.missing.items()
        if name not in catalog.retired
        for what in missing
        if what.startswith(TOPIC)
    }
    if any(isinstance(topics.resolve(topic), Resolved) for topic in waited_for):
        return True
    if any(
        not isinstance(found := topics.resolve(topic), Resolved) or found.digest != digest
        for linked in _linked(catalog)
        for topic, digest in _topics_of(linked)
    ):
        return True
    pages = {skill.name: skill.digest for skill in find_skills(home.path)}
    return any(
        pages.get(name, digest) != digest
        for linked in _linked(catalog)
        for step in linked.steps
        for name, digest in step.described or ()
    )


def _topics_of(linked: LinkedProcess) -> Iterator[tuple[str, str]]:
    """Its topics, each with the digest that it was linked with."""
    steps = (topic for step in linked.steps for topic in step.knowledge)
    yield from dict.fromkeys((topic.topic, topic.digest) for topic in (*linked.knowledge, *steps))


def _linked(catalog: Catalog) -> Iterator[LinkedProcess]:
    """The processes as the sources have them now, where nothing is missing."""
    for each in catalog.compiled.values():
        event = each.event
        stands = catalog.sources.get(event.file) == event.source
        if not stands or event.name in catalog.missing or event.name in catalog.retired:
            continue
        try:
            linked = catalog.linked(each)
        except CortexError:  # `doctor` reports a missing blob
            continue
        if isinstance(linked, LinkedProcess):
            yield linked


def knowledge_topics(home: Home) -> TopicIndex:
    """The knowledge topics of a home and of the library."""
    return TopicIndex(knowledge_roots(home))


def knowledge_roots(home: Home) -> tuple[Root, ...]:
    """The knowledge folders of a home and of the library."""
    library = Root(str(Path(str(files(LIBRARY))) / "knowledge"), "library")
    return (*roots_of_home(home.path), library)
