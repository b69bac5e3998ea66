"""What the compiler binds to, without a runtime: what components serve, and knowledge topics."""

from importlib.resources import files
from pathlib import Path

from cortex.runtime.kernel import Config, Home, announcement_of, configured, load
from cortex.runtime.knowledge import Root, TopicIndex, roots_of_home
from cortex.runtime.processes import Announced, KnowledgeTopics, Registry

from .sources import LIBRARY


def registry_of(home: Home) -> Registry:
    """What the components that a runtime on *home* would start serve.

    Raises:
        ConfigError: The home's config.toml is wrong.
        ManifestError: It names a component that cannot be loaded.
    """
    announced, config = Announced(), Config.load(home)
    for component in (load(entry.component) for entry in configured(home, config)):
        for serves in component.announces(config):
            announced.fold(announcement_of(component, serves))
    return announced.registry()


def topics_of(home: Home) -> KnowledgeTopics:
    """The knowledge topics of a home and of the library, as the compiler asks for them."""
    return KnowledgeTopics(knowledge_topics(home))


def knowledge_topics(home: Home) -> TopicIndex:
    """The knowledge topics of a home and of the library."""
    return TopicIndex(knowledge_roots(home))


def knowledge_roots(home: Home) -> tuple[Root, ...]:
    """Where the knowledge of a home and of the library stands."""
    library = Root(str(Path(str(files(LIBRARY))) / "knowledge"), "library")
    return (*roots_of_home(home.path), library)
