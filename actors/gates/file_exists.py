"""The gate `file_exists`: a path is there."""

import stat
from pathlib import Path

import msgspec

from cortex.runtime.functions import GateStep, StepError, Verdict, gate
from cortex.runtime.kernel import Component

SHOWN = 200  # characters of a path that cannot be


class FileExistsParameters(msgspec.Struct, frozen=True):
    """What `file_exists` takes."""

    path: str  # relative ones start at the workspace


class FileExists(Component):
    """Passes when the path names a file or a folder."""

    rests = True

    @gate("file_exists")
    def evaluate(self, asked: FileExistsParameters, step: GateStep) -> Verdict:
        """Look."""
        path = Path(step.event.workspace or ".", asked.path)
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return Verdict.failed(f"{path} is not there: make it, then resume", path=str(path))
        except (OSError, ValueError) as error:  # ValueError: no path holds a zero byte
            reason = getattr(error, "strerror", None) or str(error)
            problem = f"{asked.path[:SHOWN]!r} cannot be looked at: {reason}"
            raise StepError(problem) from None
        return Verdict.passed(path=str(path), kind="folder" if stat.S_ISDIR(mode) else "file")
