"""What can be wrong with a described or configured model.

CortexError
└── ModelConfigError         a model is configured with something that cannot be
"""

from cortex.bus import CortexError


class ModelConfigError(CortexError, ValueError):
    """A model is configured with something that cannot be."""

    def __init__(self, keys: tuple[str, ...], problem: str) -> None:
        super().__init__(keys, problem)
        self.keys, self.problem = keys, problem  # keys lead from the configured table to the value

    def __str__(self) -> str:
        return f"{'.'.join(self.keys)}: {self.problem}"
