"""A dry run: the requests that a process would make, without making them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from cortex.runtime.kernel import Home
from cortex.runtime.processes import LinkedInterface
from cortex.runtime.processes.catalog import Catalog

from .inputs import inputs_of, refuse_wrong
from .rehearsal import DryRunDocument, Rehearsal
from .session import Session
from .sources.home_registry import announced_elsewhere, listed_tools, preferred_for
from .sources.sources import is_path, stage_of


def dry_run(
    home: Home,
    process: str,
    pairs: Mapping[str, str],
    *,
    goal: str = "",
    workspace: Path = Path(),
    opened: Callable[[Home], AbstractContextManager[Session]] = Session.open,
) -> DryRunDocument:
    """Rehearse a process; no model is called, and nothing is recorded.

    Args:
        home: Must be trusted.
        process: Its name, an interface or a file.
        pairs: Inputs as typed; required ones may be missing.
        goal: What the work is for; empty for the goal of the process.
        workspace: The folder that the work is about.
        opened: Opens the session of the rehearsal, on a temporary home.

    Raises:
        ArgumentError: An input does not fit.
        NotFoundError: There is no such process.
        UntrustedHomeError: The home is not trusted.
    """
    elsewhere, listed = announced_elsewhere(home), listed_tools(home)
    with stage_of(home) as stage, opened(stage) as session:
        if elsewhere or listed:  # before what needs it is compiled
            session.publish(*elsewhere, *listed)
        session.submitter.changed("" if is_path(process) else process)
        name = session.submitter.file(Path(process)) if is_path(process) else process
        catalog = Catalog(session.history)
        if isinstance(catalog.linked(catalog.get(name)), LinkedInterface):
            name = catalog.implementing(name, preferred_for(name, home))
        linked = catalog.process(name)
        values = inputs_of(pairs, None, linked.inputs)
        refuse_wrong(linked, values, whole=False)
        about = goal or linked.description or f"run {name}"
        others = frozenset(each.component for each in elsewhere)
        blob, place = catalog.get(name).event.linked, str(workspace.absolute())
        return Rehearsal(session, linked, values, about, place, others, blob).report()
