"""The gates of processes whose sources stand in a home, compiled or not."""

from cortex.runtime.kernel import Home
from cortex.runtime.processes import compile_sources, parse
from cortex.runtime.processes.catalog import Gates, gates_within

from .home_registry import symbols_of, topics_of
from .sources import sources_of


def gates_of_sources(home: Home) -> Gates:
    """The gates of each process that a hub on *home* would compile.

    Of one that does not compile it is not known which it has.

    Raises:
        ConfigError, ManifestError: As for `symbols_of`.
        RefusedError: A folder of sources cannot be read.
    """
    texts = sources_of(home).texts
    names = {each.name for file, text in texts.items() for each in parse(text, file).definitions}
    compiled = compile_sources(texts, symbols_of(home), topics_of(home))
    linked = compiled.processes
    named = sorted(names - compiled.interfaces.keys())
    return {name: gates_within(linked[name]) if name in linked else None for name in named}
