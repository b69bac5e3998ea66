"""Programs: run from argument lists in bounded time and, for effects, only once."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .effects import WHOSE, Effects, run_ordered
    from .git import GitConfigurationError, GitGrant, run_git
    from .git_configuration import Setting, overridden
    from .in_use import unused
    from .output import KEPT_BYTES
    from .programs import History, Programs, Waiters
    from .running import (
        EffectInterruptedError,
        ProgramError,
        ProgramOutcome,
        ProgramRefusedError,
        ProgramTimeoutError,
        ProgramUnwantedError,
        Seconds,
        argv_of,
        run_program,
    )
else:
    lazily(__name__)

__all__ = [
    "KEPT_BYTES",
    "WHOSE",
    "EffectInterruptedError",
    "Effects",
    "GitConfigurationError",
    "GitGrant",
    "History",
    "ProgramError",
    "ProgramOutcome",
    "ProgramRefusedError",
    "ProgramTimeoutError",
    "ProgramUnwantedError",
    "Programs",
    "Seconds",
    "Setting",
    "Waiters",
    "argv_of",
    "overridden",
    "run_git",
    "run_ordered",
    "run_program",
    "unused",
]
