"""What of a home's processes does not run, as the log has it: rejected sources, lost links."""

from collections.abc import Iterator, Sequence

import msgspec

from cortex.runtime.projections import HomeLog

from .. import absence
from .catalog import Catalog
from .served import ways_back

VALIDATE = "cortex process validate"


class NotReady(msgspec.Struct):
    """A source that does not compile, or a process that lacks what it was compiled with."""

    kind: str  # "rejected" or "unlinked"
    name: str  # of the file, or of the process
    problem: str  # the first of them
    problems: int
    remedy: str = ""  # what to do; a command where there is one


def not_ready_of(history: HomeLog) -> list[NotReady]:
    """All of them, sources first."""
    catalog = Catalog(history)
    found = [
        NotReady("rejected", file, _first(event.diagnostics), len(event.diagnostics), VALIDATE)
        for file, event in sorted(catalog.rejected.items())
    ]
    offered = set(catalog.names())
    for name, missing in sorted(catalog.missing.items()):
        if name in offered:
            ways = "; ".join(ways_back(missing, history.stream, history.event))
            found.append(NotReady("unlinked", name, absence(missing[0]), len(missing), ways))
    return found


def not_ready_lines(found: Sequence[NotReady]) -> Iterator[str]:
    """A line for each of them, and then what to do."""
    for each in found:
        more = f" (and {each.problems - 1} more)" if each.problems > 1 else ""
        yield f"{each.kind}   {each.name}: {each.problem}{more}"
    yield from dict.fromkeys(f"-> {each.remedy}" for each in found if each.remedy)


def _first(diagnostics: tuple[dict[str, object], ...]) -> str:
    """The first diagnostic as `process validate` begins its line, without the file."""
    if not diagnostics:
        return "it does not compile"
    first = diagnostics[0]
    return f"{first.get('code')}: {first.get('message')}"
