"""The environment that programs are given: that of the runtime, without what looks like a secret.

Test suites and build scripts run much that nobody has read, and the runtime's environment holds the
keys of models. Whoever needs one of them names it.
"""

import os
from collections.abc import Collection

SECRET_ENDINGS = ("_KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")


def environment_for(passed: Collection[str] = ()) -> dict[str, str]:
    """The variables of this process that a program gets; secrets only if *passed* names them."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in passed or not name.upper().endswith(SECRET_ENDINGS)
    }
