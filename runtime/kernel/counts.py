"""Counts as people read them."""


def many(count: int, one: str, more: str = "") -> str:
    """*count* and what is counted: "1 failure", "2,000 failures", "1 entry"/"2 entries".

    Args:
        count: How many there are.
        one: What a single one is called.
        more: What several are called; unless given, *one* with an s.
    """
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"
