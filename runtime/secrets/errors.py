"""What can go wrong with secrets.

CortexError
├── MaskedTextError          text that is to be written holds a mask instead of what stood there
└── SecretUnavailableError   a secret cannot be had from where it is said to be
"""

from cortex.bus import CortexError


class MaskedTextError(CortexError):
    """Text that is to be written holds a mask: its writer never saw what stands there."""

    def __init__(self, where: str, mask: str) -> None:
        super().__init__(where, mask)
        self.where, self.mask = where, mask

    def __str__(self) -> str:
        return (
            f"{self.where} contains {self.mask}, the mask of a secret that was not shown: leave "
            "that line as it is, and change only what is around it"
        )


class SecretUnavailableError(CortexError):
    """A secret cannot be had from where it is said to be."""

    def __init__(self, reference: str, problem: str) -> None:
        super().__init__(reference, problem)
        self.reference, self.problem = reference, problem

    def __str__(self) -> str:
        return f"the secret {self.reference} cannot be read: {self.problem}"
