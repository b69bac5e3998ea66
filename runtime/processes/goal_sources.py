"""Ad-hoc work: the process of one step with a goal that nobody wrote to a file.

A request says the step as it would stand in a process. It goes through the same stages, so that
what is wrong with it is said in the same words.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from cortex.runtime.registry import Symbols

from .definitions import ProcessDefinition
from .diagnostics import Diagnostic, errors_of
from .link import Linker
from .linked import LinkedProcess
from .parse import parse
from .resolve import resolve
from .topics import TopicTable
from .units import UnitReporter
from .validate import validate
from .world import World

STEP: Final = "goal"  # id of the step
_FILE: Final = "the goal"  # what diagnostics name instead of a file
_NAME: Final = "adhoc"


def linked_goal(
    goal: str,
    step: Mapping[str, Any],
    symbols: Symbols,
    processes: Mapping[str, LinkedProcess],
) -> tuple[LinkedProcess, tuple[Diagnostic, ...]]:
    """Return the process whose one step works towards *goal*, and what is wrong with it.

    Args:
        goal: A text; nothing in it refers to anything.
        step: Its other keys, as they would stand in a process.
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
