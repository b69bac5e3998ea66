"""A model provider: the model `ticker` repeats the last line of its prompt."""

import cortex


@cortex.provider("ticker", model={"window": 9_000, "local": True})
def ticker(prompt: str) -> str:
    """Answers for the model `ticker`."""
    lines = prompt.splitlines()
    return lines[-1] if lines else ""
