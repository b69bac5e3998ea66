"""The gate `file_exists`: a path is there."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import Component, Delivery, Serves, on

from .verdict import failed, passed


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
        asked = msgspec.convert(event.parameters, FileExistsParameters)
        path = Path(event.workspace or ".", asked.path)
        if path.exists():
            kind = "folder" if path.is_dir() else "file"
            yield passed(event, path=str(path), kind=kind)
        else:
            yield failed(event, f"{path} is not there: make it, then resume", path=str(path))
