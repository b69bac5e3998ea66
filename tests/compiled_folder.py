"""Compiles the processes of a folder, as a test wants them."""

from pathlib import Path

from msgspec.structs import replace

from cortex.runtime.processes import Compilation, Topics, compile_sources, read_folder
from cortex.runtime.registry import Symbols


def compile_folder(folder: Path, symbols: Symbols, topics: Topics) -> Compilation:
    """All sources below *folder*; what cannot be read is among the diagnostics."""
    sources, unreadable = read_folder(folder)
    compilation = compile_sources(sources, symbols, topics)
    found = sorted((*unreadable, *compilation.diagnostics), key=lambda each: each.file)
    return replace(compilation, diagnostics=tuple(found))
