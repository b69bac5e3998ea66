"""Write docs/cli.md and the table in docs/configuration.md, made from the commands and settings.

`python dev/cli_docs.py` writes them; `--check` only says whether they are in step.
"""

import importlib
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from cortex.runtime.admin import (
    Fared,
    ClearedDocument,
    EventLine,
    FoundProcess,
    InspectDocument,
    ProcessRow,
    ValidateDocument,
)
from cortex.runtime.cache import CacheStatistics, TierStatistics
from cortex.runtime.context import (
    Epoch,
    FixedPart,
    Manifest,
    ManifestEntry,
    Neutralised,
    PassedOver,
    Segment,
)
from cortex.runtime.context.prompt_log import (
    Health,
    ItemChange,
    LineFate,
    OwnChange,
    PromptDiff,
    PromptDocument,
    PromptRow,
    PromptStats,
    SectionHealth,
    SectionStats,
    SourceStats,
    WhyRow,
)
from cortex.runtime.executions.view import (
    CompiledContext,
    DebugDocument,
    Dialogue,
    ExecutionDocument,
    ExecutionSummary,
    GateResult,
    LeftOut,
    ModelCall,
    ModelChoice,
    PromptMessage,
    PromptPart,
    SectionTokens,
    Span,
    TraceDocument,
    WaitingPrompt,
    WhyDocument,
)
from cortex.runtime.kernel import Config
from cortex.runtime.models import Price
from cortex.runtime.processes import Diff
from cortex.runtime.serving import (
    ActingDocument,
    ActingEndpoint,
    LogInside,
    StateDocument,
    StateRow,
)
from cortex.runtime.serving.doctor import Check, ModelCheck, ModelRow
from cortex.runtime.sessions import DryRunDocument, FoundExecution, GateReport, StepReport

# Behind front doors: only what describes the code looks at it there.
InitDocument: Any = importlib.import_module("cortex.runtime.cli.commands.init").InitDocument
MEANINGS = importlib.import_module("cortex.runtime.cli.exits").MEANINGS
_failure: Any = importlib.import_module("cortex.runtime.cli.screen")
Failure, FailureDocument = _failure.Failure, _failure.FailureDocument
root: click.Group = importlib.import_module("cortex.runtime.cli.tree").root

DOCS = Path(__file__).parents[1] / "docs"
OURS = ("cortex.runtime.", "cortex.plugins.")
HEAD = """\
# The command line

Generated from the code; `python dev/cli_docs.py` writes it again.

* **The home.** `--home` or `CORTEX_HOME` names the home. Otherwise it is the nearest `.cortex/`
  in the working folder or above, otherwise the one in your own data folder. If you name a home, it
  must exist; otherwise every command ends with 4 and says how to make it:
  `cortex init --home FOLDER`. The first command that needs the home in your data folder makes it
  (`run`, `trigger`, `up`, `client add`, `plugin load`); commands that only read make none.
* **Results** go to standard output, **progress** and errors to standard error. On a terminal,
  tables and trees are aligned and coloured (`NO_COLOR` is respected) and as wide as it is: a cell
  that does not fit ends with `…`. On a pipe tables are separated by tabs, with a header first, and
  each row is one line and whole. `--json` prints only one JSON document there; `cortex events`
  prints one for each line.
* **Every failure is one line** on standard error, `cortex: ...`, and an exit code from the table
  below. With `--json` it is also a document on standard output, on one line, instead of the
  command's own document: [`{"error": ...}`](#failuredocument). `CORTEX_DEBUG=1` shows the
  traceback, `cortex --log-level LEVEL` the runtime's [log lines](observability.md#log-lines).
* **An execution** is named by its id, or by the beginning of the id, if it is unique.
* **The runtime.** Commands that read (`execution list`, `show`, `find`, `trace`, `events`,
  `doctor`) work while a runtime runs. Commands that record use the hub that is [up](up.md). If
  none is, they start a runtime. A home has only one at a time: if another command has it, they end
  with 4 and name that process. Ctrl-C in that command, or `kill -INT`, pauses what it runs; when it
  has ended, repeat the command.
* `cortex completion SHELL` completes commands, options, names of processes and ids of executions.
* Other packages add commands with an entry point in the group `cortex.commands` that names a
  `click.Command`. If one fails by an exception of its own, the message names it and its package.
"""

# What --json prints, by command.
SHAPES: dict[str, tuple[str, Any]] = {
    "init": ("", InitDocument),
    "run": ("", ExecutionDocument),
    "trigger": ("", ExecutionDocument),
    "trace": ("", TraceDocument),
    "debug": ("", DebugDocument),
    "doctor": ("a list of", Check),
    "events query": ("a line for each", EventLine),
    "events tail": ("a line for each", EventLine),
    "execution list": ("a list of", ExecutionSummary),
    "execution find": ("a list of", FoundExecution),
    "execution show": ("", ExecutionDocument),
    "execution resume": ("", ExecutionDocument),
    "execution pause": ("", ExecutionDocument),
    "execution cancel": ("", ExecutionDocument),
    "execution finish": ("", ExecutionDocument),
    "execution rate": ("", ExecutionDocument),
    "cache stats": ("", CacheStatistics),
    "cache clear": ("", ClearedDocument),
    "context health": ("", Health),
    "prompt list": ("a list of", PromptRow),
    "prompt show": ("", PromptDocument),
    "prompt diff": ("", PromptDiff),
    "prompt why": ("a list of", WhyRow),
    "prompt stats": ("", PromptStats),
    "log state": ("", StateDocument),
    "model list": ("a list of", ModelRow),
    "model check": ("a list of", ModelCheck),
    "model why": ("", WhyDocument),
    "process list": ("a list of", ProcessRow),
    "process find": ("a list of", FoundProcess),
    "process inspect": ("", InspectDocument),
    "process diff": ("", Diff),
    "process history": ("a list of", Fared),
    "process validate": ("", ValidateDocument),
    "process dry-run": ("", DryRunDocument),
    "trust": ("", ActingDocument),
}
DESCRIBED: tuple[type[msgspec.Struct], ...] = (
    ActingDocument,
    ActingEndpoint,
    LogInside,
    CacheStatistics,
    CompiledContext,
    Check,
    ClearedDocument,
    DebugDocument,
    Dialogue,
    Diff,
    DryRunDocument,
    EventLine,
    ExecutionDocument,
    Epoch,
    ExecutionSummary,
    Failure,
    FailureDocument,
    FixedPart,
    GateReport,
    GateResult,
    Health,
    InitDocument,
    InspectDocument,
    ItemChange,
    Fared,
    FoundExecution,
    FoundProcess,
    LeftOut,
    LineFate,
    Manifest,
    ManifestEntry,
    ModelCall,
    ModelCheck,
    ModelChoice,
    ModelRow,
    Neutralised,
    OwnChange,
    PassedOver,
    Price,
    ProcessRow,
    PromptDiff,
    PromptDocument,
    PromptMessage,
    PromptPart,
    PromptRow,
    PromptStats,
    SectionHealth,
    SectionStats,
    SectionTokens,
    Segment,
    SourceStats,
    Span,
    StateDocument,
    StateRow,
    StepReport,
    TierStatistics,
    TraceDocument,
    ValidateDocument,
    WaitingPrompt,
    WhyDocument,
    WhyRow,
)
MARK = "<!-- keys: made by `python dev/cli_docs.py` -->"
END = "<!-- end of keys -->"


def command_reference() -> str:
    """The text of docs/cli.md."""
    return "\n".join((HEAD, *_exit_codes(), *_commands(root, ""), *_shapes()))


def key_table() -> str:
    """The table of the keys of config.toml."""
    lines = ["| key | type | default | what it is |", "|---|---|---|---|"]
    for key in Config.keys():  # noqa: SIM118  # it is no dict
        name = f"{'.'.join(key.table)}.{key.name}" if key.table else key.name
        if key.repeated:
            name = f"{'.'.join(key.table)}[].{key.name}"
        default = f"`{key.default}`" if key.default else ""
        kind = key.type.replace("|", "\\|")
        lines.append(f"| `{name}` | {kind} | {default} | {key.description} |")
    return "\n".join(lines)


def with_key_table(text: str) -> str:
    """The text of docs/configuration.md with its table as it is now."""
    before, _, rest = text.partition(MARK)
    _, _, after = rest.partition(END)
    return f"{before}{MARK}\n{key_table()}\n{END}{after}"


def _exit_codes() -> Iterator[str]:
    yield from ("## Exit codes", "", "| code | meaning |", "|---|---|")
    yield from (f"| {code} | {meaning} |" for code, meaning in MEANINGS.items())
    yield ""


def _commands(group: click.Group, path: str) -> Iterator[str]:
    context = click.Context(group, info_name=f"cortex {path}".strip())
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or not (command.callback or "").__module__.startswith(OURS):
            continue  # other packages document their own
        full = f"{path} {name}".strip()
        if isinstance(command, click.Group):
            yield from _commands(command, full)
        else:
            yield from _command(command, full)


def _command(command: click.Command, path: str) -> Iterator[str]:
    context = click.Context(command, info_name=f"cortex {path}")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"## cortex {path}", "", "```", f"cortex {path} {usage}".rstrip(), "```", "")
    yield _paragraphs(command.help or "")
    yield ""
    options = [each for each in command.params if isinstance(each, click.Option)]
    if options:
        yield from ("| option | |", "|---|---|")
        yield from map(_option, options)
        yield ""
    if path in SHAPES:
        how, shape = SHAPES[path]
        yield f"`--json`: {f'{how} ' if how else ''}[{shape.__name__}](#{shape.__name__.lower()})"
        yield ""


def _option(option: click.Option) -> str:
    takes = "" if option.is_flag else f" {option.metavar or _kind(option)}"
    default = f" [default: {option.default}]" if option.show_default else ""
    return f"| `{', '.join(option.opts)}{takes}` | {option.help or ''}{default} |"


def _kind(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return " or ".join(map(str, option.type.choices))
    return {"integer range": "NUMBER"}.get(option.type.name, option.type.name.upper())


def _paragraphs(text: str) -> str:
    parts: list[str] = []
    for part in (each.strip(" ") for each in text.strip().split("\n\n")):
        literal = part.startswith("\b")
        lines = [line.strip() for line in part.lstrip("\b\n").splitlines()]
        parts.append("\n".join(["```", *lines, "```"]) if literal else " ".join(lines))
    return "\n\n".join(parts)


def _shapes() -> Iterator[str]:
    yield from ("## What --json prints", "", "Fields may be added; none is renamed or removed.", "")
    for shape in sorted(DESCRIBED, key=lambda each: each.__name__):
        summary = (shape.__doc__ or "").strip().splitlines()[0]
        yield from (f"### {shape.__name__}", "", summary, "", "| field | type |", "|---|---|")
        for field in msgspec.structs.fields(shape):
            yield f"| `{field.encode_name}` | {_type(field.type)} |"
        yield ""


def _type(kind: Any) -> str:
    args = [arg for arg in typing.get_args(kind) if arg is not type(None)]
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return ", ".join(f'"{arg}"' for arg in args)
    if origin in (list, tuple):
        return f"list of {_type(args[0])}"
    if origin is dict:
        return f"map of {_type(args[1])}"
    if origin in (typing.Union, types.UnionType):
        optional = len(args) < len(typing.get_args(kind))
        return " or ".join([_type(arg) for arg in args] + (["null"] if optional else []))
    names = {str: "string", int: "integer", float: "number", bool: "boolean", Any: "anything"}
    return names.get(kind) or str(getattr(kind, "__name__", kind))


def texts() -> dict[Path, str]:
    """What is generated, by file."""
    table = DOCS / "configuration.md"
    return {
        DOCS / "cli.md": command_reference(),
        table: with_key_table(table.read_text(encoding="utf-8")),
    }


def main() -> int:
    """Write the pages, or compare them."""
    stale = {p: text for p, text in texts().items() if p.read_text(encoding="utf-8") != text}
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path} is out of step with the code: run python dev/cli_docs.py")
        return 1 if stale else 0
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
