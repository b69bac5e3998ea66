"""The one way in which Cortex starts Python.

A Python that is started with `-c` or `-m` looks for modules in the working folder first, and one
that reads its environment looks wherever that says: a `msgspec.py` or `sitecustomize.py` in a
checkout would run inside Cortex, with its keys. An isolated one does neither.
"""

import site
import sys
from pathlib import Path


def interpreter(*words: str) -> list[str]:
    """The words that start this Python isolated, with *words* as its own arguments.

    The folder one stands in, that of a script, and every `PYTHON...` variable are without effect.
    The user's own site-packages are looked into only where Cortex itself is installed there.
    """
    return [sys.executable, *_flags(), *words]


def _flags() -> tuple[str, ...]:
    return ("-P", "-E") if _in_user_site() else ("-I",)


def _in_user_site() -> bool:
    if not site.ENABLE_USER_SITE:
        return False
    return Path(__file__).is_relative_to(site.getusersitepackages())
