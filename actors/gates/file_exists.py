"""The gate `file_exists`: a path is there."""

import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import Component, Delivery, Serves, on

from .verdict import failed, parameters_of, passed

SHOWN = 200  # characters of a path that cannot be


class FileExistsParameters(msgspec.Struct, frozen=True):
    """What `file_exists` takes."""

    path: str  # relative ones start at the workspace


class FileExists(Component):
    """Passes when the path names a file or a folder."""

    workers = 1
    serves = (Serves("gate", "file_exists", FileExistsParameters, traits={"read_only": True}),)

    @on(GateEvaluate, where={"gate": "file_exists"})
    def evaluate(self, event: GateEvaluate, delivery: Delivery) -> Iterator[GateEvaluated]:
        """Look."""
        asked = parameters_of(event, FileExistsParameters)
        if isinstance(asked, GateEvaluated):
            yield asked
            return
        path = Path(event.workspace or ".", asked.path)
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            yield failed(event, f"{path} is not there: make it, then resume", path=str(path))
        except (OSError, ValueError) as error:  # ValueError: no path holds a zero byte
            reason = getattr(error, "strerror", None) or str(error)
            yield failed(event, f"{asked.path[:SHOWN]!r} cannot be looked at: {reason}")
        else:
            kind = "folder" if stat.S_ISDIR(mode) else "file"
            yield passed(event, path=str(path), kind=kind)
