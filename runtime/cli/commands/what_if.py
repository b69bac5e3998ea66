"""`cortex what-if`: an execution again with something changed; only what is new is done."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from cortex.runtime import sessions
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home
from cortex.runtime.sessions import ArgumentError, Ending, Session
from cortex.runtime.what_if import (
    Changes,
    Plan,
    WhatIf,
    WhatIfDocument,
    agreed,
    compared,
    comparison_of,
    plan_lines,
    plan_of,
    planned,
    prepared,
    request_of,
)

from ..completing import with_execution
from ..exits import OK, WAITING, exit_code
from ..options import DOLLARS, FILE, at_home
from ..screen import Screen
from ..terminal import open_session

AGREE = "nothing was sent: --yes agrees to the plan, --full shows its prompts"
COMPARED = ("execution_id", "compare", "quiet", "as_json", "home")  # what goes with --compare

Value = TypeVar("Value")


@click.command("what-if")
@with_execution
@click.option(
    "--from",
    "start",
    default="",
    metavar="POINT",
    help="What stays as it was: all before this step, position or event id.",
)
@click.option("--process", type=FILE, metavar="FILE", help="Run the version in FILE.")
@click.option(
    "--knowledge", multiple=True, metavar="TOPIC=FILE", help="Take the topic's content from FILE."
)
@click.option(
    "--model", "models", multiple=True, metavar="[STEP=]MODEL", help="Ask MODEL, or in STEP alone."
)
@click.option("--window", type=click.IntRange(min=1), help="Tokens of a prompt and its answer.")
@click.option(
    "--section", "sections", multiple=True, metavar="NAME=TOKENS", help="Budget of a section."
)
@click.option("--persona", help="Persona of the model, in place of the recorded one.")
@click.option("--instructions", help="Instructions of the steps, in place of the process's.")
@click.option(
    "--strategy",
    type=click.Choice(["pre-assembled", "just-in-time"]),
    help="How knowledge comes into prompts.",
)
@click.option("--plan", "only_plan", is_flag=True, help="Show the plan, and end.")
@click.option("--full", is_flag=True, help="Show the text of each prompt of the plan.")
@click.option(
    "--compare",
    is_flag=True,
    help="EXECUTION is a what-if: show its outcome beside the recorded one, and end.",
)
@click.option("-y", "--yes", is_flag=True, help="Agree to the plan: send its prompts.")
@click.option(
    "--budget",
    type=DOLLARS,
    metavar="USD",
    help="Send no more than this costs; within it, later prompts need no agreement.",
)
@click.option("--allow", is_flag=True, help="Allow effects that are not on record.")
@click.option("-q", "--quiet", is_flag=True, help="Do not show progress.")
@at_home
def what_if(
    execution_id: str,
    only_plan: bool,
    compare: bool,
    full: bool,
    yes: bool,
    budget: float | None,
    allow: bool,
    quiet: bool,
    home: Home,
    screen: Screen,
    **changed: Any,
) -> int:
    """Run an execution again with something changed, and compare.

    Change the process, a topic, a model or how prompts are compiled. First, the command shows which
    prompts have other bytes than recorded, and what they may cost. They are sent once you agree.
    Everything else is answered from the record: equal prompts, and equal calls of actions, tools
    and gates. Before an effect that is not on record, it stops and asks.

    The what-if is a new execution; EXECUTION does not change. If it paused and you continued it,
    `cortex what-if ID --compare` compares again.
    """
    if compare:
        _refuse_more()
        return _compare(execution_id, home, screen)
    changes = _changes(**changed)
    if only_plan:
        return _plan(execution_id, changes, home, screen, full=full)
    with open_session(home, screen, quiet=quiet, shows=not screen.as_json) as session:
        asked = prepared(session.history, session.known(execution_id), changes)
        plan = plan_of(session.history, Config.shown(home), asked, full=full)
        _show_plan(plan, screen)
        ready = agreed(asked, plan, session.history.blobs.put, budget=budget, allow=allow)
        if plan.prompts and not yes and not session.front.agrees("Send these prompts?"):
            screen.document(planned(session.history, plan))
            screen.note(AGREE, "yellow")
            return WAITING
        ending, found = _run(session, ready, plan)
    _show(found, screen)
    return exit_code(ending)


def _refuse_more() -> None:
    """Refuse what goes with no --compare, which shows what there is."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in COMPARED:
            raise click.UsageError(f"--compare goes without {option.opts[-1]}: it changes nothing")


def _compare(execution_id: str, home: Home, screen: Screen) -> int:
    """Show a what-if that has begun beside what was recorded."""
    with History.open(home) as history:
        found = compared(history, history.execution_id(execution_id))
    _show(found, screen)
    return OK


def _plan(execution_id: str, changes: Changes, home: Home, screen: Screen, *, full: bool) -> int:
    """Show the plan alone."""
    with History.open(home) as history:
        asked = prepared(history, history.execution_id(execution_id), changes)
        plan = plan_of(history, Config.shown(home), asked, full=full)
        _show_plan(plan, screen)
        screen.document(planned(history, plan))
    return OK


def _run(session: Session, ready: WhatIf, plan: Plan) -> tuple[Ending, WhatIfDocument]:
    """Run what was agreed to, and compare."""
    request = request_of(ready, session.client.new_id)
    matched = sessions.matched(request, ready.process.digest)
    ending = session.run(request.execution_id, matched, request)
    return ending, compared(session.history, request.execution_id, plan)


def _show_plan(plan: Plan, screen: Screen) -> None:
    for line in plan_lines(plan):
        screen.line(*line)


def _show(found: WhatIfDocument, screen: Screen) -> None:
    screen.document(found)
    for line in comparison_of(found):
        screen.line(*line)


def _changes(
    start: str,
    process: Path | None,
    knowledge: tuple[str, ...],
    models: tuple[str, ...],
    sections: tuple[str, ...],
    **policy: Any,
) -> Changes:
    """What the options change."""
    return Changes(
        start=start,
        process=process,
        knowledge=_once(map(_topic, knowledge), "--knowledge"),
        models=_once(map(_model, models), "--model"),
        policy=dict(_policy(sections, **policy)),
    )


def _once(pairs: Iterable[tuple[str, Value]], option: str) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in pairs:
        if name in found:
            raise ArgumentError(f"{name!r} is given twice" if name else "is given twice", option)
        found[name] = value
    return found


def _topic(said: str) -> tuple[str, Path]:
    topic, _, file = said.partition("=")
    if not topic.strip() or not file:
        raise ArgumentError(f"expected TOPIC=FILE, not {said!r}", "--knowledge")
    if Path(file).is_dir():
        raise ArgumentError(f"{file!r} is a folder, not a file", "--knowledge")
    return topic.strip(), Path(file)


def _model(said: str) -> tuple[str, str]:
    step, parted, model = said.rpartition("=")
    if (parted and not step) or not model:
        raise ArgumentError(f"expected MODEL or STEP=MODEL, not {said!r}", "--model")
    return step, model


def _policy(
    sections: tuple[str, ...],
    window: int | None,
    persona: str | None,
    instructions: str | None,
    strategy: str | None,
) -> Iterator[tuple[str, Any]]:
    given = {
        "tokens": window,
        "persona": persona,
        "instructions": instructions,
        "strategy": strategy,
    }
    yield from ((name, value) for name, value in given.items() if value is not None)
    if sections:
        yield "sections", _once(map(_section, sections), "--section")


def _section(said: str) -> tuple[str, int]:
    name, _, tokens = said.partition("=")
    if not name or not tokens.isascii() or not tokens.isdigit():
        raise ArgumentError(f"expected NAME=TOKENS, not {said!r}", "--section")
    return name, int(tokens)
