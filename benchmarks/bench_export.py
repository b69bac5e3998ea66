"""How many events a second do an export of the log and an import take, and how much memory?

A home of many events is made with our own log. *cortex* writes the log itself, every event checked,
decoded and encoded again; *import* reads that file, checks every line and makes the home; each
other format is written once. The bare limit reads and decodes the records of the log and writes
them as they are. Each is a process of its own.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from home_runs import BARE, Work, measure
from measure import Figures

from cortex.bus import decode
from cortex.runtime.exports import FORMATS, NATIVE, export_to, import_log
from cortex.runtime.kernel import Home

FORMS = [name for name in FORMATS if not name.endswith("-batch")]  # it is written as the other
PARTS = (*FORMS, "import", BARE)


def part(name: str, folder: Path) -> Work:
    """One of them; the home that an import makes is removed first."""
    home, there = Home(folder / "home"), Home(folder / "there")
    file = folder / f"out.{NATIVE if name == 'import' else name}"
    shutil.rmtree(there.path, ignore_errors=True)

    def work() -> dict[str, float]:
        if name == "import":
            with file.open("rb") as source:
                import_log(source, there)
        elif name == BARE:
            copy_records(home, file)
        else:
            export_to(home, file, form=name)
        return {"size_mb": file.stat().st_size / 1e6}

    return work


def copy_records(home: Home, file: Path) -> None:
    """Read and decode the records of the log, and write them as they are."""
    with closing(sqlite3.connect(home.log_path)) as log, file.open("wb") as out:
        for (record,) in log.execute("select record from events order by position"):
            decode(record)
            out.write(record)


def sizes(ours: Figures) -> str:
    """The end of a line."""
    return f"{ours['rss_mb']:.0f} MB of memory, {ours['size_mb']:,.0f} MB of file"


if __name__ == "__main__":
    measure(__file__, PARTS, part, quick=(NATIVE, "import"), row=sizes)
