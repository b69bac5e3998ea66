"""The tree of commands; modules of commands are imported only when called."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .exits import DEFECT, exit_code_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "cortex.commands"  # entry points under this name add commands

AS_JSON = "cortex.json"  # in a context's `meta`
HOME = "cortex.home"  # there, too: the folder that --home names before the command

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Lazy(NamedTuple):
    """A command that is not imported yet."""

    where: str  # "init:command", in the folder commands/, or "cortex.room:command" in a layer above
    help: str  # a sentence


COMMANDS = {
    "audit": Lazy("audit:audit", "Sign, prove and check the log, and erase a person."),
    "backup": Lazy("backup:backup", "Copy the home into FOLDER, a new one or an earlier backup."),
    "blobs": Lazy("storage:blobs", "Manage blobs: remove those that nothing names."),
    "cache": Lazy("cache:cache", "Show and empty the cache of artefacts, which can be made again."),
    "client": Lazy("client:client", "Manage the clients of the bus, and what they may do."),
    "completion": Lazy("init:completion", "Print the completion script of SHELL."),
    "context": Lazy("context:context", "Show the context of an execution."),
    "ctx": Lazy("ctx:ctx", "Write data and prose in fewer tokens, for models to read."),
    "debug": Lazy("trace:debug", "Show where an execution stands, and what would be sent next."),
    "diff": Lazy("diff:diff", "Show where two histories part, and what each has from there."),
    "directive": Lazy(
        "directive:directive", "Lay down what holds until you change it, whatever a model says."
    ),
    "doctor": Lazy("status:doctor", "Check this installation, the home, its log and its blobs."),
    "down": Lazy("hub:down", "End the hub that is up on the home."),
    "events": Lazy("events:events", "Read the event log."),
    "execution": Lazy("execution:execution", "Show executions and control them."),
    "export": Lazy("export:export", "Write the events of the log to FILE, for other tools."),
    "import": Lazy("export:import_", "Make a home's log again from the export in FILE."),
    "fork": Lazy("run:fork", "Start a new execution from a recorded point of another."),
    "gc": Lazy("gc:gc", "Collect memories and packages that nothing keeps."),
    "init": Lazy("init:init", "Make a home, .cortex/, in FOLDER (this folder)."),
    "knowledge": Lazy(
        "knowledge:knowledge", "Use knowledge: index it, find passages, list topics."
    ),
    "log": Lazy("storage:log", "Check the state beside the event log, and archive its records."),
    "memory": Lazy("memory:memory", "Keep what was learned, and show why it is believed."),
    "model": Lazy("model:model", "Show models, and check whether they answer."),
    "package": Lazy("package:package", "Compile chains of memory into one text, for prompts."),
    "plugin": Lazy("cortex.plugins.cli:plugin", "Show plugins, load them with grants, write one."),
    "process": Lazy("process:process", "Show processes and check their sources."),
    "projections": Lazy(
        "projections:projections", "Show the projections of the log, and fold them again."
    ),
    "prompt": Lazy("prompt:prompt", "Show prompts: what they contain, what was left out, and why."),
    "replay": Lazy("replay:replay", "Decide again what was decided in an execution, and compare."),
    "restore": Lazy("backup:restore", "Make the home again from the backup in FOLDER."),
    "run": Lazy("run:run", "Run a process, or work towards a goal without one."),
    "status": Lazy(
        "status:status", "Show whether a hub is up, who is connected, and how fast it is."
    ),
    "trace": Lazy("trace:trace", "Show everything that happened in an execution."),
    "trigger": Lazy("trigger:trigger", "Report an event, and run the process that answers it."),
    "trust": Lazy("trust:trust", "Trust a home that came from elsewhere, or withdraw trust."),
    "up": Lazy("hub:up", "Serve the home to other processes and other machines."),
    "what-if": Lazy(
        "what_if:what_if", "Run an execution again with something changed, and compare."
    ),
    "worker": Lazy("worker:worker", "Host components in a separate process, connected to a hub."),
}


class RunAgainError(Exception):
    """What kept a command from being run is out of the way."""


class AddedCommandError(click.ClickException):
    """A command that another package adds is at fault."""

    exit_code = DEFECT


class Family(click.Group):
    """A command with commands under it; alone it shows what they are."""

    def __init__(self, *args: Any, later: Mapping[str, Lazy] | None = None, **attrs: Any) -> None:
        """As click does; the commands in *later* are imported when they are asked for."""
        super().__init__(*args, **attrs)
        self._later = later or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *self._later})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        lazy = self._later.get(cmd_name)
        return super().get_command(ctx, cmd_name) if lazy is None else _load(lazy)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; without arguments this is a call for help."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a hint where a name is nearly right."""
        from difflib import get_close_matches

        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


class CommandTree(Family):
    """Built-in commands by name, and those that other packages add by entry point."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, and take note of --json: a command line that is wrong honours it too."""
        ctx.meta[AS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As click does; a failure is a document where JSON was asked for."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if _trusted_now(error):
                raise RunAgainError from error
            fault = _fault_of_added(ctx.invoked_subcommand or "", error)
            if ctx.meta[AS_JSON]:
                from .screen import show_failure

                show_failure(ctx, fault or error)
            if fault is not None:
                raise fault from error
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's
        """Names of all commands, sorted."""
        return sorted(COMMANDS.keys() | _added().keys())

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's
        cmd_name: str,
    ) -> click.Command | None:
        """The command of that name, imported now."""
        lazy = COMMANDS.get(cmd_name)
        if lazy is not None:
            return _load(lazy)
        added = _added().get(cmd_name)
        if added is None:
            return None
        try:
            command = added.load()
        except Exception as error:
            raise click.ClickException(
                f"the command {cmd_name} of {added.value} cannot be loaded: {error}; upgrade or "
                "uninstall the package that brings it"
            ) from error
        if not isinstance(command, click.Command):
            raise click.ClickException(f"{added.value} is not a click command")
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's
        formatter: click.HelpFormatter,
    ) -> None:
        """The list of commands, without importing the built-in ones."""
        rows = [(name, lazy.help) for name, lazy in COMMANDS.items()]
        rows += [(name, f"From {point.value}.") for name, point in _added().items()]
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows))


def _trusted_now(error: Exception) -> bool:
    """Whether *error* is an untrusted home that the person at the terminal then trusts."""
    from cortex.runtime.access.trust import UntrustedHomeError

    if not isinstance(error, UntrustedHomeError):
        return False
    from .terminal import trusted_when_asked

    return trusted_when_asked(error)


def _fault_of_added(name: str, error: Exception) -> AddedCommandError | None:
    """That *error* is a fault of the command *name*, if another package adds that."""
    if name in COMMANDS or isinstance(error, click.ClickException):
        return None
    added = _added().get(name)
    if added is None or exit_code_of(error) != DEFECT:
        return None
    package = f"{added.dist.name} ({added.value})" if added.dist is not None else added.value
    return AddedCommandError(
        f"{type(error).__name__}: {error} -- this is a defect of the command {name}, which "
        f"{package} adds; CORTEX_DEBUG=1 shows where it is"
    )


def _load(lazy: Lazy) -> click.Command:
    from importlib import import_module

    module, _, name = lazy.where.partition(":")
    where = module if "." in module else f"{__package__}.commands.{module}"
    command: click.Command = getattr(import_module(where), name)
    return command


def _added() -> "dict[str, EntryPoint]":
    # Here, not at the top: reading what is installed takes longer than all else `--help` does.
    from importlib.metadata import entry_points

    return {p.name: p for p in entry_points(group=GROUP) if p.name not in COMMANDS}


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from cortex.runtime.kernel import VERSION

        click.echo(f"cortex {VERSION}")
        ctx.exit()


@click.group(cls=CommandTree, context_settings=SETTINGS)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="The home; you can also give it after the command.",
)
@click.option(
    "--log-level",
    type=click.Choice(("trace", "debug", "info", "warning", "error")),
    help="Write log lines of this level and above to standard error.",
)
@click.pass_context
def root(context: click.Context, home: Path | None, log_level: str | None) -> None:
    """Run the work of LLM agents as compiled processes on an append-only event log.

    Every command takes --help; commands that show something take --json. The home is named by
    --home or CORTEX_HOME; else it is the nearest .cortex/ folder, else your own data folder.
    """
    context.meta[HOME] = home
    if log_level:
        os.environ["CORTEX_LOG"] = log_level  # also for the processes that it starts
