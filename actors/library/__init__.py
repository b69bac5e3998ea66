"""The process library that comes with Cortex: processes, and the knowledge they declare."""

from importlib.resources import files
from pathlib import Path

PREFIX = "library/"  # of the file names that the shipped sources go by


def library_sources() -> dict[str, str]:
    """Text of every shipped process source, by file name."""
    folder = Path(str(files(__package__))) / "processes"
    return {f"{PREFIX}{p.name}": p.read_text("utf-8") for p in sorted(folder.glob("*.yaml"))}


def library_knowledge() -> Path:
    """The root of the shipped knowledge."""
    return Path(str(files(__package__))) / "knowledge"


__all__ = ["PREFIX", "library_knowledge", "library_sources"]
