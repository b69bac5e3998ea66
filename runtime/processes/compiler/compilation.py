"""The result of compiling a set of sources."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from cortex.runtime.registry import Symbols

from ..diagnostics.diagnostics import Diagnostic, errors_of
from ..executable.linked import LinkedInterface, LinkedProcess
from ..linker.units import Unit
from ..linker.world import Resolution
from .parse import Parsed


class Compilation(Struct, frozen=True, kw_only=True):
    """What came of a set of sources."""

    processes: Mapping[str, LinkedProcess]  # by name, the highest version of each
    interfaces: Mapping[str, LinkedInterface]
    older: tuple[LinkedProcess, ...] = ()  # lower versions that are among the sources as well
    diagnostics: tuple[Diagnostic, ...] = ()  # by file and place
    compiled: tuple[str, ...] = ()  # names that were compiled now and not taken over
    strict: bool = False
    # Reused by the next compilation only.
    files: Mapping[str, Parsed] = {}
    units: Mapping[tuple[str, int], Unit] = {}
    resolutions: Mapping[str, Resolution] = {}
    symbols: Symbols = Symbols()
    implementers: Mapping[str, tuple[str, ...]] = {}

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The errors among the diagnostics."""
        return errors_of(self.diagnostics)


def gathered(
    files: Mapping[str, Parsed], units: Iterable[Unit], *, strict: bool
) -> tuple[Diagnostic, ...]:
    """Return what was found in *files* and *units*, by file and place."""
    found = {file: list(parsed.diagnostics) for file, parsed in files.items()}
    for unit in units:
        found[unit.key[0]].extend(unit.diagnostics)
    for each in found.values():
        each.sort(key=lambda one: (one.span, one.code))
    diagnostics = (one for each in found.values() for one in each)
    if strict:
        return tuple(replace(one, severity="error") for one in diagnostics)
    return tuple(diagnostics)
