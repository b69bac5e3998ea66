"""The output of a plugin: kept in a file of limited size, without the secrets that it got."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from cortex.runtime.isolation import ChildLog
from cortex.runtime.log import private
from cortex.runtime.secrets import redacted, with_names

FOLDER = "logs"  # in the home


def output_of(path: Path, secrets: Mapping[str, str]) -> ChildLog:
    """The log of one plugin, at *path*."""
    return ChildLog(path, lambda line: redacted(with_names(line, secrets)), private)


def path_of(home: Path, plugin: str) -> Path:
    """Where the output of *plugin* is kept."""
    return home / FOLDER / f"{plugin}.log"


def lines_of(home: Path, plugin: str, most: int) -> Iterator[str]:
    """The last lines, *most* at most, of what *plugin* printed."""
    path = path_of(home, plugin)
    kept: list[str] = []
    for each in (path.with_name(path.name + ".1"), path):
        if each.exists():
            kept += each.read_text(encoding="utf-8", errors="replace").splitlines()
    yield from kept[max(0, len(kept) - most) :]
