"""How long does a backup of a home take, the first time and again, and a restore?

A home of many events is made with our own log. *First* copies everything and checks every event,
*again* copies into the same folder after nothing has changed, *restore* checks every event and
makes the home. The bare limit is ``shutil.copytree`` of the home.
"""

import shutil
from pathlib import Path

from home_runs import BARE, Work, measure

from cortex.runtime.admin import back_up, restore
from cortex.runtime.kernel import Home

PARTS = ("first", "again", "restore", BARE)


def part(name: str, folder: Path) -> Work:
    """One of them; what is made again is removed first."""
    home, backup, there = Home(folder / "home"), folder / "backup", folder / "there"
    if name == "first":
        shutil.rmtree(backup, ignore_errors=True)
    shutil.rmtree(there, ignore_errors=True)

    def work() -> dict[str, float]:
        if name == BARE:
            shutil.copytree(home.path, there)
        elif name == "restore":
            restore(backup, Home(there))
        else:
            back_up(home, backup)
        return {}

    return work


if __name__ == "__main__":
    measure(__file__, PARTS, part, quick=("first",), row=lambda ours: f"{ours['rss_mb']:.0f} MB")
