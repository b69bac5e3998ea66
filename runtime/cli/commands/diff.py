"""`cortex diff`: where two executions, two moments or two logs part, and what each then has."""

import re
from pathlib import Path

import click

from cortex.runtime.diff import (
    HistoryDiff,
    diff_executions,
    diff_logs,
    diff_moments,
    opened_log,
    report_of,
)
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.projections import position_at

from ..completing import execution_ids
from ..exits import FAILED, OK
from ..options import at_any_home
from ..screen import Screen

# A position, a time ago, or a date; ids of executions look like none of them.
_MOMENT = re.compile(r"\d+(?:\.\d+)?[smhdw]?|\d{4}-\d\d.*", re.ASCII)


@click.command()
@click.argument("before", metavar="A", shell_complete=execution_ids)
@click.argument("after", metavar="B", shell_complete=execution_ids)
@at_any_home
def diff(before: str, after: str, home: Home, screen: Screen) -> int:
    """Show where two histories part, and what each has from there.

    A and B are both executions (ids, or their beginnings), both moments of the home (a POSITION or
    a TIME, as for --at), or both logs (paths of homes or of log files). For two moments it shows
    what appeared, went and changed, too. It reads only, and ends with 1 if they diverge.
    """
    found = _compared(before, after, home)
    screen.document(found)
    for line in report_of(found):
        screen.line(*line)
    return OK if found.same else FAILED


def _compared(a: str, b: str, home: Home) -> HistoryDiff:
    kinds = {_kind(a), _kind(b)}
    if len(kinds) > 1:
        raise click.UsageError(f"{a!r} is {_kind(a)} and {b!r} is {_kind(b)}: name two of one kind")
    if kinds == {"a log"}:
        with opened_log(Path(a)) as ours, opened_log(Path(b)) as theirs:
            return diff_logs(ours, theirs, (a, b))
    home.require()
    if kinds == {"a moment"}:
        return diff_moments(home, position_at(home, a), position_at(home, b))
    with History.open(home) as history:
        return diff_executions(history, history.execution_id(a), history.execution_id(b))


def _kind(name: str) -> str:
    if _MOMENT.fullmatch(name.strip()):
        return "a moment"
    if "/" in name or name.endswith(".db") or name.startswith((".", "~")) or Path(name).exists():
        return "a log"
    return "an execution"
