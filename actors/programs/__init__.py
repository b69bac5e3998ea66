"""Programs: run from argument lists in bounded time, and where it matters only once."""

from .effects import Effects, run_ordered
from .errors import (
    EffectInterruptedError,
    ProgramError,
    ProgramRefusedError,
    ProgramTimeoutError,
)
from .running import KEPT_BYTES, ProgramOutcome, argv_of, run_program

__all__ = [
    "KEPT_BYTES",
    "EffectInterruptedError",
    "Effects",
    "ProgramError",
    "ProgramOutcome",
    "ProgramRefusedError",
    "ProgramTimeoutError",
    "argv_of",
    "run_ordered",
    "run_program",
]
