"""`cortex doctor`: is everything as it should be?"""

import click

from cortex.runtime.kernel import Home
from cortex.runtime.serving.doctor import checks_of

from ..exits import OK, UNUSABLE
from ..options import with_any_home, with_screen
from ..screen import Screen

_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command()
@click.option("--quick", is_flag=True, help="Do not read every event of the log and every blob.")
@click.option("--load", is_flag=True, help="Also import your own components: their code runs.")
@with_any_home
@with_screen
def doctor(quick: bool, load: bool, home: Home, screen: Screen) -> int:
    """Check this installation, the home, its log and its blobs.

    It changes nothing, and runs no code of the home without --load.

    Ends with 4 if you have to do something.
    """
    found = []
    for check in checks_of(home, deep=not quick, loading=load):
        found.append(check)
        screen.line(f"{check.state:<5} {check.name:<11} {check.found}", _STYLES[check.state])
        if check.todo:
            screen.line(f"{'':<17} -> {check.todo}")
    screen.document(found)
    return UNUSABLE if any(check.state == "fail" for check in found) else OK
