"""`cortex run`: run a process, or open work towards a goal."""

from pathlib import Path
from typing import TypeAlias

import click

from cortex.bus.events import ExecutionRequest, TriggerMatched
from cortex.runtime.kernel import Home
from cortex.runtime.processes import LinkedInterface, LinkedProcess

from ..completing import process_names_or_files, with_inputs
from ..exits import OK
from ..options import with_new_home, with_running, with_screen
from ..reading import Catalog
from ..running import (
    Station,
    inputs_of,
    is_path,
    mask_of,
    pairs_of,
    refuse_secrets,
    refuse_wrong,
    user_name,
)
from ..screen import Screen

Linked: TypeAlias = LinkedProcess | LinkedInterface
FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


@click.command()
@click.argument("process", required=False, default="", shell_complete=process_names_or_files)
@with_inputs
@click.option(
    "--input-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Inputs as a map in a file, JSON or TOML.",
)
@click.option("--goal", default="", help="What the work is for [default: what PROCESS says].")
@click.option("--workspace", type=FOLDER, default=".", help="The folder it is about [default: .].")
@click.option("--break", "breaks", multiple=True, metavar="STEP", help="Pause before this step.")
@click.option("--version", type=click.IntRange(min=1), help="Not the newest, but this version.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0.0),
    metavar="USD",
    help="What its models may take, in US dollars [default: `max_cost` in [models]].",
)
@with_running
@with_new_home
@with_screen
def run(
    process: str,
    inputs: tuple[str, ...],
    input_file: Path | None,
    goal: str,
    workspace: Path,
    breaks: tuple[str, ...],
    version: int | None,
    max_cost: float | None,
    yes: bool,
    quiet: bool,
    home: Home,
    screen: Screen,
) -> int:
    """Run a process, or work towards a goal without one.

    PROCESS is its name, an interface that it implements, or a file. Without it but with --goal, an
    ad-hoc execution is opened, whose actions are recorded so that a process can be made of them.
    How it goes is told on standard error, what comes of it on standard output. Ctrl-C pauses it.
    Where a person is asked in a model's place, the answer is typed, and ended with Ctrl-D.
    """
    if not (process or goal):
        raise click.UsageError("name a PROCESS, or give a --goal")
    given = pairs_of(inputs, "NAME")
    with Station.open(home, screen) as station:
        station.quiet, station.questions.approve = quiet, yes
        path = is_path(process)
        station.submitter.changed("" if path or version else process)
        name = station.submitter.file(Path(process)) if path else process
        linked = _linked(station, name, version)
        values = inputs_of(given, input_file, linked.inputs if linked else ())
        refuse_secrets(values, mask_of(home))
        # What implements an interface may take more than it says; an abstract one is refused.
        if isinstance(linked, LinkedProcess) and not linked.abstract:
            refuse_wrong(linked, values)
        request = ExecutionRequest(
            execution_id=station.client.new_id(),
            process=name,
            process_version=version or 0,
            inputs=values,
            goal=goal or _about(linked),
            workspace=str(workspace.absolute()),
            trigger=station.client.new_id(),
            breakpoints=breaks,
            max_cost=max_cost,
            wait_s=station.wait_s,
        )
        # A person who asks is what set it going; that is recorded with the request.
        asked = TriggerMatched(
            trigger_id=request.trigger,
            execution_id=request.execution_id,
            process=name,
            digest=linked.digest if linked else "",
            because=f"{user_name()} asked for it on the command line",
        )
        if name:
            return station.run(request.execution_id, asked, request)
        station.publish(asked, request)
        return _open(station, request)


def _linked(station: Station, name: str, version: int | None) -> Linked | None:
    """The process or interface of that name; None for work without one."""
    if not name:
        return None
    catalog = Catalog(station.history)
    return catalog.linked(catalog.get(name, version))


def _about(linked: Linked | None) -> str:
    return (linked.description or f"run {linked.name}") if linked else ""


def _open(station: Station, request: ExecutionRequest) -> int:
    station.until_started(request.execution_id)
    screen = station.screen
    screen.document(station.document(request.execution_id))
    screen.line(f"execution {request.execution_id} is open for: {request.goal}")
    screen.line("what components do in it is recorded, for a process to be made of it")
    screen.line(f"cortex execution finish {request.execution_id}", "cyan")
    screen.line(f"cortex trace {request.execution_id}", "cyan")
    return OK
