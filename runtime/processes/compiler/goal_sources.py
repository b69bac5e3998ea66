"""Ad-hoc work: the process of one step with a goal that nobody wrote to a file.

A request has the step in the form of a process source. It passes the same stages, so its errors
have the same diagnostics.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from cortex.runtime.registry import Symbols

from ..diagnostics.diagnostics import Diagnostic, errors_of
from ..executable.linked import LinkedProcess
from ..linker.link import Linker
from ..linker.topics import TopicTable
from ..linker.units import UnitReporter
from ..linker.world import World
from ..syntax.definitions import ProcessDefinition
from .parse import parse
from .resolve import resolve
from .validate import validate

STEP: Final = "goal"  # id of the step
_FILE: Final = "the goal"  # what diagnostics name instead of a file
_NAME: Final = "adhoc"


def linked_goal(
    goal: str,
    step: Mapping[str, Any],
    symbols: Symbols,
    processes: Mapping[str, LinkedProcess],
) -> tuple[LinkedProcess, tuple[Diagnostic, ...]]:
    """Return the process whose one step works towards *goal*, and its diagnostics.

    Args:
        goal: Plain text; `${...}` in it is no reference.
        step: Its other keys, as in a process source.
        symbols: What its actions, gates and tools are bound to.
        processes: Those that it may run as children, by name.
    """
    said = {
        "process": _NAME,
        "version": 1,
        "steps": [{"id": STEP, **step, "goal": goal.replace("${", "$${")}],
        "outputs": {"answer": {"type": "string", "value": f"${{steps.{STEP}.answer}}"}},
    }
    parsed = parse(msgspec.json.encode(said).decode(), _FILE)
    found = [each for each in parsed.definitions if isinstance(each, ProcessDefinition)]
    if not found:
        return NOTHING, parsed.diagnostics
    reporter = UnitReporter(found[0])
    validate(found[0], reporter)
    world = World(symbols, TopicTable({}))
    world.processes = dict(processes)
    world.defined = frozenset(processes)
    world.abstract = frozenset(name for name, each in processes.items() if each.abstract)
    linked = Linker(resolve(found[0], None, reporter), world, reporter).link()
    diagnostics = (*parsed.diagnostics, *reporter.found)
    return replace(linked, name="", version=0, chain=()), diagnostics


def problem_of(diagnostics: tuple[Diagnostic, ...]) -> str:
    """The errors among *diagnostics* in one line, each with what to do; "" where there is none."""
    errors = errors_of(diagnostics)
    return "; ".join(f"{each.message} ({each.code}): {each.remedy}" for each in errors)


NOTHING: Final = LinkedProcess(name="", version=0, digest="", source_digest="", chain=(), steps=())
