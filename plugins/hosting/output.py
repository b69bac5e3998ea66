"""What a plugin prints: kept in a file of bounded size, without the secrets that it was given."""

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path

from cortex.runtime.access import redacted
from cortex.runtime.log import private

from ..secrets import without_secrets

FILE_BYTES = 1 << 20  # then it becomes NAME.log.1, and what that held is gone
LINE_BYTES = 4_096
FOLDER = "logs"  # in the home


class Output:
    """The log of one plugin; lines come in as bytes, in any pieces."""

    def __init__(self, path: Path, secrets: Mapping[str, str]) -> None:
        self._path, self._secrets = path, secrets
        self._rest = b""

    def take(self, data: bytes) -> None:
        """Keep what was printed, whole lines at a time."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_BYTES:
            lines, self._rest = [*lines, self._rest], b""
        self._write(lines)

    def finish(self) -> None:
        """Keep what is left of a line that was not ended."""
        lines, self._rest = [self._rest] if self._rest else [], b""
        self._write(lines)

    def say(self, line: str) -> None:
        """Add a line of Cortex's own."""
        self._write([f"-- {line}".encode()])

    def _write(self, lines: list[bytes]) -> None:
        if not lines:
            return
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size > FILE_BYTES:
            self._path.replace(self._path.with_name(self._path.name + ".1"))
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        with open(self._path, "ab", opener=private) as file:
            for line in lines:
                text = redacted(without_secrets(line.decode(errors="replace"), self._secrets))
                file.write(f"{now} {text.encode()[:LINE_BYTES].decode(errors='ignore')}\n".encode())


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
