"""`cortex model`: which models there are, whether they can be asked, and why one was."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import click

from cortex.runtime.executions.view import History, ModelCall, ModelChoice, WhyDocument, why_of
from cortex.runtime.kernel import Config, Home, NotFoundError, duration, many
from cortex.runtime.models import EMBEDDED_MODEL, Price, Usage, counted, dollars
from cortex.runtime.processes.catalog import needs_line
from cortex.runtime.serving.doctor import ModelCheck, ModelRow, check_model, models_of

from ..completing import execution_ids, model_names
from ..exits import OK, UNUSABLE
from ..options import with_any_home, with_home, with_screen
from ..screen import Screen
from ..tree import Family

AT_ONCE = 8  # endpoints that are checked beside each other
HEADERS = (
    "name",
    "provider",
    "where",
    "reasoning/code/speed",
    "window",
    "price",
    "key",
    "model",
)
_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.group(cls=Family)
def model() -> None:
    """Show models, and check whether they answer."""


@model.command("list")
@with_any_home
@with_screen
def list_(home: Home, screen: Screen) -> None:
    """List the models that steps may use.

    They are in config.toml or come with a component. A price has four parts: US dollars for a
    million tokens of prompt, of prompt read from the endpoint's cache, of prompt written to it, and
    of answer. For a key, the list shows only its variable, and whether it is set.
    """
    rows = models_of(home)
    screen.document(rows)
    screen.table(HEADERS, map(_cells, rows))
    for row in rows:
        if row.default:
            screen.note(f"default: {row.name}")
        if not row.component:
            screen.note(f"{row.name}: no component answers for the provider {row.provider!r}")


@model.command()
@click.argument("name", required=False, shell_complete=model_names)
@with_any_home
@with_screen
def check(name: str | None, home: Home, screen: Screen) -> int:
    """Check that Cortex can ask the models, or the model NAME.

    It checks that the configuration is correct, that the variable with the key is set, that the
    endpoint accepts a connection and, if it is OpenAI-compatible, that it has the model. It sends
    no prompt, and contacts only the model's own endpoint.

    Ends with 4 if a model cannot be asked, or if the only one is the built-in one, which only
    quotes.
    """
    rows = models_of(home)
    asked = [row for row in rows if name in (None, row.name)]
    if not asked:
        raise NotFoundError("model", name or "", "is not known: `cortex model list` shows what is")
    models = Config.load(home).models
    used = {each.name: each for each in models.use}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda row: check_model(row, used.get(row.name), home), asked))
    if name is None and not models.use and all(row.provider == EMBEDDED_MODEL for row in rows):
        todo = f"name one in {home.config_path}, as [[models.use]]"
        found.append(ModelCheck("models", "fail", "none is configured", todo))
    if name is None and models.default and models.default not in {row.name for row in rows}:
        todo = "correct `default` in [models], or it chooses nothing"
        found.append(ModelCheck(models.default, "fail", "the default is not a model", todo))
    for each in found:
        _show_check(screen, each)
    screen.document(found)
    return UNUSABLE if any(each.state == "fail" for each in found) else OK


@model.command()
@click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
@click.argument("step")
@with_home
@with_screen
def why(execution_id: str, step: str, home: Home, screen: Screen) -> None:
    """Show why Cortex chose the models of STEP, and their cost.

    For every attempt and every turn of a step it shows the needs, the suitable models, the rejected
    models with the reason, and each call.
    """
    with History.open(home) as history:
        document = why_of(history, history.execution_id(execution_id), step)
    screen.document(document)
    _show_why(screen, document)


def _cells(row: ModelRow) -> tuple[str, ...]:
    return (
        row.name,
        row.provider,
        "local" if row.local else "remote",
        "/".join(level or "-" for level in (row.reasoning, row.code, row.speed)),
        f"{row.window:,}",
        _prices(row.price),
        f"{row.key_env}: {'yes' if row.key_set else 'no'}" if row.key_env else "-",
        row.model,
    )


def _prices(price: Price) -> str:
    each = (price.input, price.cached_read, price.cached_write, price.output)
    return "/".join(f"{dollars:g}" for dollars in each) if any(each) else "free"


def _show_check(screen: Screen, found: ModelCheck) -> None:
    took = "" if found.took_s is None else f" ({duration(found.took_s)})"
    todo = f": {found.todo}" if found.todo else ""
    screen.line(f"{found.state:<5} {found.name}: {found.found}{took}{todo}", _STYLES[found.state])


def _show_why(screen: Screen, document: WhyDocument) -> None:
    screen.line(f"step {document.step} of execution {document.execution}", "bold")
    for choice in document.choices:
        turn = f", turn {choice.turn}" if choice.turn else ""
        screen.line()
        screen.line(f"attempt {choice.attempt}{turn}: {choice.model}", "bold")
        for name, value in _facts(choice):
            screen.paragraph(value, lead=f"  {name:<10} ")
    for reason in document.refused:
        screen.line()
        screen.paragraph(reason, lead="refused: ", style="red")
    screen.line()
    screen.line(f"in all {dollars(document.cost)}, {many(document.tokens, 'token')}")


def _facts(choice: ModelChoice) -> Iterator[tuple[str, str]]:
    if choice.provider:
        yield "provider", choice.provider
    if choice.because:
        yield "because", choice.because
    yield "needs", needs_line(choice.needs, {}) or "nothing said"
    if choice.inferred:
        yield "inferred", needs_line(choice.inferred, choice.inferred_from)
    if choice.unfit:
        yield "unfit", f"{', '.join(choice.unfit)}: asked before, and the answer did not fit"
    if choice.runners_up:
        yield "runners-up", ", ".join(choice.runners_up)
    for reason in choice.rejected:
        yield "rejected", reason
    yield "reckoned", dollars(choice.reckoned_cost)
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
