"""The process library that comes with Cortex: processes, and the knowledge they declare."""

from importlib.resources import files
from pathlib import Path

from cortex.runtime.processes import SHIPPED


def library_sources() -> dict[str, str]:
    """Text of every shipped process source, by file name."""
    folder = Path(str(files(__package__))) / "processes"
    return {f"{SHIPPED}{p.name}": p.read_text("utf-8") for p in sorted(folder.glob("*.yaml"))}


def library_knowledge() -> Path:
    """The root of the shipped knowledge."""
    return Path(str(files(__package__))) / "knowledge"


__all__ = ["library_knowledge", "library_sources"]
