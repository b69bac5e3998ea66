"""Names for the completion of a shell: quick, read-only, and silent on every error."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from .options import home_at

if TYPE_CHECKING:
    from cortex.runtime.kernel import Home

MOST = 50  # ids that are offered, the newest
_NAME = re.compile(r"(?m)^(?:process|interface):\s*['\"]?(\w[\w-]*)")

Found = Callable[["Home", str, click.Context], Iterator[CompletionItem]]


def _completing(find: Found) -> Callable[..., list[CompletionItem]]:
    def complete(
        context: click.Context,
        _: click.Parameter,
        incomplete: str,
    ) -> list[CompletionItem]:
        try:
            return list(find(home_at(context.params.get("home")), incomplete, context))
        except Exception:  # noqa: BLE001  # pressing TAB must not show a traceback
            return []

    return complete


def _executions(home: "Home", incomplete: str, _: click.Context) -> Iterator[CompletionItem]:
    from cortex.bus import as_map
    from cortex.runtime.executions.view import History
    from cortex.runtime.projections import REQUESTS

    with History.open(home) as history:
        requests = (r for r in history.newest(REQUESTS) if r.correlation and r.version == 1)
        fitting = (r for r in requests if (r.correlation or "").startswith(incomplete))
        for record in islice(fitting, MOST):
            body = as_map(record)
            about = f"{body.get('process', '')} {body.get('goal', '')}".strip()
            yield CompletionItem(record.correlation, help=" ".join(about.split())[:60])


def _processes(home: "Home", incomplete: str, _: click.Context) -> Iterator[CompletionItem]:
    from cortex.runtime.sessions import sources_of

    texts = sources_of(home).texts.values()
    names = {name for text in texts for name in _NAME.findall(text)}
    if home.log_path.exists():
        from cortex.runtime.executions.view import History
        from cortex.runtime.processes.catalog import Catalog

        with History.open(home) as history:
            names.update(Catalog(history).names())
    yield from (CompletionItem(name) for name in sorted(names) if name.startswith(incomplete))


def _runnable(home: "Home", incomplete: str, context: click.Context) -> Iterator[CompletionItem]:
    found = list(_processes(home, incomplete, context))
    # A source is named by its file, which the shell knows better.
    yield from found or [CompletionItem(incomplete, type="file")]


def _inputs(home: "Home", incomplete: str, context: click.Context) -> Iterator[CompletionItem]:
    """Inputs of the process that the command line names, as its source or the log has them."""
    # An option that still lacks its value keeps click from parsing the words before it.
    named = context.params.get("process") or next(iter(context.args), "")
    given = {each.partition("=")[0] for each in context.params.get("inputs") or ()}
    for name, help_ in _declared(home, named):
        if name.startswith(incomplete) and name not in given:
            # No space comes after it in a shell that knows files; a value does.
            yield CompletionItem(f"{name}=", help=help_)


def _declared(home: "Home", named: str) -> Iterator[tuple[str, str]]:
    """Inputs of a process as its source declares them, those of its parents before its own."""
    from cortex.runtime.processes import parse
    from cortex.runtime.sessions import is_path, source_at, sources_of

    texts = list(sources_of(home).texts.values())
    if is_path(named):
        texts.append(source_at(Path(named))[1])
        named = next(iter(_NAME.findall(texts[-1])), "")
    known = {each.name: each for text in texts for each in parse(text, named).definitions}
    chain = []
    while (found := known.pop(named, None)) is not None:
        chain.append(found)
        named = getattr(found, "extends", None) or ""
    for definition in reversed(chain):
        for field in definition.inputs:
            yield field.name, f"{field.type or ''}  {field.description}".strip()


def _models(home: "Home", incomplete: str, _: click.Context) -> Iterator[CompletionItem]:
    from cortex.runtime.kernel import Config

    used = Config.shown(home).models.use
    for model in used:
        if model.name.startswith(incomplete):
            yield CompletionItem(model.name, help=f"{model.id} of {model.provider}")


def _actions(home: "Home", incomplete: str, context: click.Context) -> Iterator[CompletionItem]:
    """What may be done towards the goal of the execution that the command line names."""
    from cortex.runtime.executions.view import History
    from cortex.runtime.sessions import actions_of

    named = context.params.get("execution_id") or next(iter(context.args), "")
    with History.open(home) as history:
        for each in actions_of(history, history.execution_id(named)):
            if each.name.startswith(incomplete):
                yield CompletionItem(each.name, help=each.about[:60])


actions_of_goals = _completing(_actions)
execution_ids = _completing(_executions)
input_names = _completing(_inputs)
with_inputs = click.option(
    "-i",
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=input_names,
    help="An input.",
)
with_execution = click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
with_any_execution = click.argument(
    "execution_id", metavar="[EXECUTION]", default="", shell_complete=execution_ids
)
model_names = _completing(_models)
process_names = _completing(_processes)
process_names_or_files = _completing(_runnable)
