"""Names for the completion of a shell: quick, reading alone, and silent where anything is wrong."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from .options import home_at

if TYPE_CHECKING:
    from cortex.runtime.kernel import Home

MOST = 50  # ids that are offered, the newest
_NAME = re.compile(r"(?m)^(?:process|interface):\s*['\"]?(\w[\w-]*)")

Found = Callable[["Home", str], Iterator[CompletionItem]]


def _completing(find: Found) -> Callable[..., list[CompletionItem]]:
    def complete(
        context: click.Context,
        _: click.Parameter,
        incomplete: str,
    ) -> list[CompletionItem]:
        try:
            return list(find(home_at(context.params.get("home")), incomplete))
        except Exception:  # noqa: BLE001  # whoever presses TAB must not get a traceback
            return []

    return complete


def _executions(home: "Home", incomplete: str) -> Iterator[CompletionItem]:
    from cortex.bus import as_map

    from .reading import REQUESTS, History

    with History.open(home) as history:
        requests = (r for r in history.newest(REQUESTS) if r.correlation and r.version == 1)
        fitting = (r for r in requests if (r.correlation or "").startswith(incomplete))
        for record in islice(fitting, MOST):
            body = as_map(record)
            about = f"{body.get('process', '')} {body.get('goal', '')}".strip()
            yield CompletionItem(record.correlation, help=" ".join(about.split())[:60])


def _processes(home: "Home", incomplete: str) -> Iterator[CompletionItem]:
    from .running import sources_of

    texts = sources_of(home).texts.values()
    names = {name for text in texts for name in _NAME.findall(text)}
    if home.log_path.exists():
        from .reading import Catalog, History

        with History.open(home) as history:
            names.update(Catalog(history).names())
    yield from (CompletionItem(name) for name in sorted(names) if name.startswith(incomplete))


def _runnable(home: "Home", incomplete: str) -> Iterator[CompletionItem]:
    found = list(_processes(home, incomplete))
    # A source is named by its file, which the shell knows better.
    yield from found or [CompletionItem(incomplete, type="file")]


def _models(home: "Home", incomplete: str) -> Iterator[CompletionItem]:
    from cortex.runtime.kernel import Config

    used = Config.shown(home).models.use
    for model in used:
        if model.name.startswith(incomplete):
            yield CompletionItem(model.name, help=f"{model.id} of {model.provider}")


execution_ids = _completing(_executions)
model_names = _completing(_models)
process_names = _completing(_processes)
process_names_or_files = _completing(_runnable)
