"""What can go wrong with prompts that were compiled.

CortexError
└── PromptGoneError      the bytes of a prompt are gone, and can be compiled again
"""

from cortex.bus import CortexError


class PromptGoneError(CortexError):
    """A prompt's bytes are not kept any more; what it was compiled from is named by its event."""

    exit_code = 4  # the command line's for a home that cannot be used

    def __init__(self, prompt: str) -> None:
        super().__init__(prompt)
        self.prompt = prompt

    def __str__(self) -> str:
        return (
            f"the bytes of prompt {self.prompt} are not in this home any more: --rebuild compiles "
            "them again from what they were compiled from"
        )
