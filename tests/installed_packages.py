"""Packages of a test, in a folder on the path as if pip had installed them there."""

from pathlib import Path


def install(site: Path, package: str, **points: str) -> None:
    """Write into *site* what is known of an installed *package*: its version and entry points.

    Args:
        points: What it offers, by the group without `cortex.`: `plugins="mine = mine:PLUGIN"`.
    """
    info = site / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    groups = "".join(f"[cortex.{group}]\n{lines}\n" for group, lines in points.items())
    (info / "entry_points.txt").write_text(groups)
