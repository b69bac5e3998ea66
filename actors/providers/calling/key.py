"""The key of an endpoint, which is masked in all that the endpoint says."""

from cortex.runtime.secrets import Mask

SHORTEST_KEY = 4  # characters; a shorter one would stand in every other word


def mask_of_key(key: str) -> Mask:
    """Hides *key*, which may be shorter than what is masked everywhere."""
    return Mask((key,), shortest=SHORTEST_KEY)
