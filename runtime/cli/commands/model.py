"""`cortex model`: which models are configured, whether they answer, and why one was chosen."""

from collections.abc import Iterator

import click

from cortex.runtime.executions.view import History, ModelCall, ModelChoice, why_of
from cortex.runtime.kernel import Home, duration, many
from cortex.runtime.models import Price, Usage, counted, dollars
from cortex.runtime.processes.catalog import needs_line
from cortex.runtime.serving.doctor import check_models, models_of

from ..completing import model_names, with_execution
from ..exits import OK, UNUSABLE
from ..options import at_any_home, at_home, with_past
from ..screen import STATES, Columns, Screen
from ..tree import Family

COLUMNS: Columns = {
    "name": "name",
    "provider": "provider",
    "where": lambda row: "local" if row.local else "remote",
    "reasoning/code/speed": lambda row: "/".join(
        level or "-" for level in (row.reasoning, row.code, row.speed)
    ),
    "window": "window",
    "price": lambda row: _prices(row.price),
    "key": lambda row: f"{row.key_env}: {'yes' if row.key_set else 'no'}" if row.key_env else "-",
    "model": "model",
}


@click.group(cls=Family)
def model() -> None:
    """Show models, and check whether they answer."""


@model.command("list")
@at_any_home
def list_(home: Home, screen: Screen) -> None:
    """List the models that steps may use.

    They are in config.toml or come with a component. A price has four parts: US dollars for a
    million tokens of prompt, of prompt read from the endpoint's cache, of prompt written to it, and
    of answer. For a key, the list shows only its variable, and whether it is set.
    """
    rows = models_of(home)
    screen.rows(rows, COLUMNS)
    for row in rows:
        if row.default:
            screen.note(f"default: {row.name}")
        if not row.component:
            screen.note(f"{row.name}: no component answers for the provider {row.provider!r}")


@model.command()
@click.argument("name", required=False, shell_complete=model_names)
@at_any_home
def check(name: str | None, home: Home, screen: Screen) -> int:
    """Check that Cortex can ask the models, or the model NAME.

    It checks that the configuration is correct, that the variable with the key is set, that the
    endpoint accepts a connection and, if it is OpenAI-compatible, that it has the model. It sends
    no prompt, and contacts only the model's own endpoint.

    Ends with 4 if a model cannot be asked, or if the only one is the built-in one, which only
    quotes.
    """
    found = check_models(home, name)
    for each in found:
        took = "" if each.took_s is None else f" ({duration(each.took_s)})"
        todo = f": {each.todo}" if each.todo else ""
        screen.line(f"{each.state:<5} {each.name}: {each.found}{took}{todo}", STATES[each.state])
    screen.document(found)
    return UNUSABLE if any(each.state == "fail" for each in found) else OK


@model.command()
@with_execution
@click.argument("step")
@at_home
@with_past
def why(execution_id: str, step: str, home: Home, screen: Screen) -> None:
    """Show why Cortex chose the models of STEP, and their cost.

    For every attempt and every turn of a step it shows the needs, the suitable models, the rejected
    models with the reason, and each call.
    """
    with History.open(home) as history:
        document = why_of(history, history.execution_id(execution_id), step)
    screen.document(document)
    screen.line(f"step {document.step} of execution {document.execution}", "bold")
    for choice in document.choices:
        turn = f", turn {choice.turn}" if choice.turn else ""
        screen.line()
        screen.line(f"attempt {choice.attempt}{turn}: {choice.model}", "bold")
        screen.facts(_facts(choice), "  ")
    for reason in document.refused:
        screen.line()
        screen.paragraph(reason, lead="refused: ", style="red")
    screen.line()
    screen.line(f"in all {dollars(document.cost)}, {many(document.tokens, 'token')}")


def _prices(price: Price) -> str:
    each = (price.input, price.cached_read, price.cached_write, price.output)
    return "/".join(f"{dollars:g}" for dollars in each) if any(each) else "free"


def _facts(choice: ModelChoice) -> Iterator[tuple[str, str]]:
    unfit = f"{', '.join(choice.unfit)}: asked before, and the answer did not fit"
    yield "provider", choice.provider
    yield "because", choice.because
    yield "needs", needs_line(choice.needs, {}) or "nothing said"
    yield "inferred", needs_line(choice.inferred, choice.inferred_from) if choice.inferred else ""
    yield "unfit", unfit if choice.unfit else ""
    yield "runners-up", ", ".join(choice.runners_up)
    for reason in choice.rejected:
        yield "rejected", reason
    yield "estimated", dollars(choice.reckoned_cost)
    for call in choice.calls:
        yield f"call {call.call}", _told(call)


def _told(call: ModelCall) -> str:
    took = "" if call.took_s is None else f" in {duration(call.took_s)}"
    if call.status != "answered":
        why = ": ".join(filter(None, (call.kind, call.error)))
        return f"{call.status}{took}{f': {why}' if why else ''}"
    usage = Usage(
        input=call.input_tokens,
        cached_read=call.cached_read_tokens,
        cached_write=call.cached_write_tokens,
        output=call.output_tokens,
    )
    return f"answered{took}, {dollars(call.cost)}: {counted(usage)}"
