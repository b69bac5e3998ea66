"""Programs: run from argument lists in bounded time, and where it matters only once."""

from .effects import Effects, run_ordered
from .errors import (
    EffectInterruptedError,
    ProgramError,
    ProgramRefusedError,
    ProgramTimeoutError,
    ProgramUnwantedError,
)
from .git import GitFilterError, ask_git
from .output import KEPT_BYTES
from .running import ProgramOutcome, argv_of, run_program

__all__ = [
    "KEPT_BYTES",
    "EffectInterruptedError",
    "Effects",
    "GitFilterError",
    "ProgramError",
    "ProgramOutcome",
    "ProgramRefusedError",
    "ProgramTimeoutError",
    "ProgramUnwantedError",
    "argv_of",
    "ask_git",
    "run_ordered",
    "run_program",
]
