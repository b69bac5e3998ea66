"""What people laid down, where an execution meets it: prompts, tools and open questions."""

from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import TypeAlias

from msgspec import to_builtins
from msgspec.structs import replace

from cortex.bus import Event
from cortex.bus.events import ContextCompile
from cortex.runtime.directives import NOTHING, InForce, directive_about
from cortex.runtime.memory import seen_by

from ..state.state import Execution
from ..state.values import too_large

Directives: TypeAlias = Callable[[Execution], InForce]


def nothing_laid_down(state: Execution) -> InForce:  # noqa: ARG001  # as `Directives` is called
    """Where nobody can lay anything down."""
    return NOTHING


def scopes_of(state: Execution, load: Callable[[str], Execution]) -> tuple[str, ...]:
    """The scopes that apply to an execution, the narrowest first.

    Args:
        state: The execution.
        load: Gives the executions that it is a part of, whose scopes apply to it as well.
    """
    if state.started is None:
        return ()
    begun = state.started
    own, *rest = seen_by(state.execution_id, begun.process, PurePath(begun.workspace).name)
    return (own, *(f"execution:{each}" for each in _parents(state, load)), *rest)


def _parents(state: Execution, load: Callable[[str], Execution]) -> Iterator[str]:
    seen = {state.execution_id}
    while state.parent and state.parent not in seen:
        seen.add(state.parent)
        yield state.parent
        state = load(state.parent)


def with_directives(request: ContextCompile, found: InForce) -> ContextCompile:
    """*request*, with what is in force for its prompt."""
    if not found.directives:
        return request
    return replace(request, directives=tuple(to_builtins(each) for each in found.directives))


def too_long(request: Event) -> str | None:
    """What to say about *request* if it is too large for the log; None where it fits."""
    problem = too_large(request)
    if problem is None or not isinstance(request, ContextCompile) or not request.directives:
        return problem
    if too_large(replace(request, directives=())) is not None:
        return problem
    many = f"{len(request.directives):,} directives are in force"
    return f"{many}, and no prompt holds as many: remove those that this work does not need"


def denied(tool: str, found: InForce, pack: str = "") -> str:
    """Why *tool*, of *pack*, must not be used; "" if it may."""
    prohibition = directive_about(tool, found.prohibited, pack)
    return f"{prohibition.quoted} prohibits {tool}" if prohibition is not None else ""
