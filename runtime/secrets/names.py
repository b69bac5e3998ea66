"""Which settings name secrets, and which variables of the environment look like one."""

import re
from collections.abc import Iterator
from typing import Any, Final

# Settings whose values are names of secrets: of models, embedders, hooks, servers and plugins.
_NAMING: Final = re.compile(r"(?:.*_)?(?:key|secret|token|password|webhook)_env|secret")

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
