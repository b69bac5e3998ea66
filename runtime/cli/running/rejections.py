"""Sources that were rejected: which process they hold, and what is said of them in passing."""

import re
from collections.abc import Iterable, Mapping

from ..errors import NotFoundError, RejectedError
from ..reading import Catalog

_NAME = r"(?m)^(?:process|interface|name):\s*['\"]?{}['\"]?\s*(?:#.*)?$"


def stands_in_the_way(
    name: str, rejected: Iterable[RejectedError], texts: Mapping[str, str], catalog: Catalog
) -> RejectedError | None:
    """The rejection because of which *name* would not run as its source has it now."""
    try:
        wanted = {name, *getattr(catalog.linked(catalog.get(name)), "chain", ())}
    except NotFoundError:
        wanted = {name}
    files = {c.event.file for c in catalog.compiled.values() if c.event.name in wanted}
    for each in rejected:
        text = texts.get(each.file, "")
        if each.file in files or any(re.search(_NAME.format(re.escape(w)), text) for w in wanted):
            return each
    return None


def in_passing(rejected: list[RejectedError]) -> str:
    """One line about *rejected*, for a command that does not need them."""
    first = rejected[0]
    more = f" (and {len(rejected) - 1} more)" if len(rejected) > 1 else ""
    return f"{first.file}{more} was rejected and stays as it was: see `cortex process validate`"
