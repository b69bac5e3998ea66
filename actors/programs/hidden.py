"""Which variables of the environment hold keys by what is configured, whatever they are called.

The process that watches over a program does not load this: it would take it as long as all else.
"""

import re
from collections.abc import Iterator
from typing import Any

from cortex.runtime.kernel import Config
from cortex.runtime.models import endpoint_of

# What a server of tools is given beside its secrets, and every program needs.
_ORDINARY = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|TZ|TMPDIR|PWD|LC_.*|XDG_.*|.*_(?:PATH|HOME|DIR)"
)
_NAMING = ("key_env", "secret_env", "webhook_env")  # settings whose values are names of secrets


def hidden_by(config: Config) -> frozenset[str]:
    """The variables that hold keys by what *config* says, whatever they are called."""
    names = {endpoint_of(model).key_env for model in config.models.use}
    for server in config.tools.mcp:
        names.add(server.key_env)
        names.update(name for name in server.env if not _ORDINARY.fullmatch(name))
    for component in config.components:
        names.update(_named_in(component.config))
    return frozenset(names - {""})


def _named_in(settings: Any) -> Iterator[str]:
    if isinstance(settings, dict):
        for key, value in settings.items():
            if key in _NAMING and isinstance(value, str):
                yield value
            else:
                yield from _named_in(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from _named_in(value)
