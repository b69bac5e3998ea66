"""The environment that programs are given: that of the runtime, without what looks like a secret.

Test suites and build scripts run much that nobody has read, and the runtime's environment holds the
keys of models. Whoever needs one of them names it.
"""

import os
import re
from collections.abc import Collection

_SECRET = re.compile(
    r".*(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL).*"
    r"|.*(?:KEYS?|TOKENS?|CONNECTION_STRING|WEBHOOK(?:_URL)?|AUTH_CONFIG)(?:_?\d+)?"
    r"|(?:.*_)?(?:PAT|AUTH|AUTHORIZATION|PASS|SSHPASS|CREDS?|JWT|DSN|COOKIES?)(?:_?\d+)?"
    r"|.*_PWD",
    re.IGNORECASE,
)


def environment_for(passed: Collection[str] = (), hidden: Collection[str] = ()) -> dict[str, str]:
    """The variables of this process that a program gets.

    Args:
        passed: Those that it gets although they are hidden or look like secrets.
        hidden: Those that it does not get, whatever they look like.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name in passed or not (name in hidden or _SECRET.fullmatch(name))
    }
