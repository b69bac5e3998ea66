"""What can go wrong with an export or an import.

CortexError (in the bus)
├── ExportDamagedError  a line of an export is not what was written: get the file again
└── ExportNewerError    a newer Cortex wrote it: upgrade
"""

from cortex.bus import CortexError, with_fields


@with_fields
class ExportDamagedError(CortexError):
    """A line of an export is not what was written."""

    line: int  # from 1
    problem: str

    says = "line {line} of the export is damaged: {problem}; nothing was kept, export it again"


@with_fields
class ExportNewerError(CortexError):
    """A newer version of Cortex wrote the export, or its log."""

    exit_code = 4  # the command line's for what cannot be used

    line: int  # from 1
    problem: str

    says = "line {line} of the export is of a newer Cortex: {problem}; upgrade Cortex"
