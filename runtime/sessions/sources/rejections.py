"""Rejected sources: their processes, and the short notes about them."""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from cortex.runtime.kernel import NotFoundError, RefusedError
from cortex.runtime.processes import Diagnostic, LinkedProcess, ProcessLoadError, answers
from cortex.runtime.processes.catalog import Catalog

from ..errors import RejectedError

LINKING = "P4"  # diagnostics from here on are of what a source is linked to, and of the log
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


def standing(texts: Mapping[str, str], catalog: Catalog) -> list[RejectedError] | None:
    """The known diagnostics of *texts*; None if a new compilation could give others.

    Errors within a source, or between sources, stay until one of them changes; a missing link
    target (P4..) may exist by now.
    """
    found: list[RejectedError] = []
    for file, text in texts.items():
        event = catalog.rejected.get(file)
        if event is None or event.strict or event.source != sha256(text.encode()).hexdigest():
            return None
        own = [msgspec.convert(each, Diagnostic) for each in event.diagnostics]
        if not own or any(each.code >= LINKING for each in own):
            return None
        found.append(RejectedError(file, str(own[0]), len(own)))
    return found


def by_file(error: ProcessLoadError) -> list[RejectedError]:
    """The diagnostics in *error* by file."""
    found: dict[str, list[Diagnostic]] = {}
    for each in error.diagnostics:
        found.setdefault(each.file, []).append(each)
    return [RejectedError(file, str(own[0]), len(own)) for file, own in found.items()]


def refuse_older(
    fields: Mapping[str, Any],
    version: int | None,
    rejected: Iterable[RejectedError],
    texts: Mapping[str, str],
    catalog: Catalog,
) -> None:
    """See that no trigger with *fields* runs an older form of a process unless *version* names it.

    Raises:
        RejectedError: The newest source of a process that answers it was rejected.
        RefusedError: It was, and *version* is not the one that would run.
    """
    for name in catalog.names():
        newest = catalog.get(name)
        linked = catalog.linked(newest)
        if not isinstance(linked, LinkedProcess) or not answers(linked, fields):
            continue
        stands = newest.event.process_version
        if version is not None and version != stands:
            raise RefusedError(
                f"{name} answers this trigger in version {stands}, not {version}: name that, or "
                f"run another with `cortex run {name} --version {version}`"
            )
        if version is None and (own := stands_in_the_way(name, rejected, texts, catalog)):
            raise own


def in_passing(rejected: list[RejectedError], before: Catalog) -> str:
    """One line about *rejected*, for a command that does not need them."""
    first = rejected[0]
    stays = first.file in before.sources
    if len(rejected) == 1:
        told = "was rejected" + (" and stays as it was" if stays else "")
    else:
        told = f"(and {len(rejected) - 1} more) were rejected"
    return f"{first.file} {told}: see `cortex process validate`"
