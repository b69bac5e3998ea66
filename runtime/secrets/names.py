"""Which settings name secrets, and which variables of the environment look like one."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

# Settings whose values are names of secrets: of models, embedders, hooks, servers and plugins.
_NAMING: Final = re.compile(r"(?:.*_)?(?:key|secret|token|password|webhook)_env|secret")

LEAST_NAMED: Final = 4  # characters: a shorter one would make a text unreadable, and hides nothing

LOOKS_SECRET: Final = re.compile(
    r".*(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL).*"
    r"|.*(?:KEYS?|TOKENS?|CONNECTION_STRING|WEBHOOK(?:_URL)?|AUTH_CONFIG)(?:_?\d+)?"
    r"|(?:.*_)?(?:PAT|AUTH|AUTHORIZATION|PASS|SSHPASS|CREDS?|JWT|DSN|COOKIES?)(?:_?\d+)?"
    r"|.*_PWD",
    re.IGNORECASE,
)


def named_in(settings: Any) -> Iterator[str]:
    """The names of secrets in *settings*, however deep."""
    if isinstance(settings, dict):
        for key, value in settings.items():
            if isinstance(value, str) and _NAMING.fullmatch(str(key)):
                yield value
            else:
                yield from named_in(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from named_in(value)


def with_names(text: str, secrets: Mapping[str, str], shortest: int = LEAST_NAMED) -> str:
    """*text* with the names of *secrets* where their values were, for who knows them by name."""
    for name, value in sorted(secrets.items(), key=lambda pair: -len(pair[1])):
        if len(value) >= shortest:
            text = text.replace(value, f"[{name}]")
    return text
