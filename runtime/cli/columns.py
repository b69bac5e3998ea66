"""How wide the columns of a table may be."""

GAP = 2  # between columns
LEAST = 20  # columns for what a row is about, while others can give way
NARROWEST = 8  # columns of any other that gives way


def narrowed(widths: list[int], words: list[bool], most: int) -> list[int]:
    """*widths* that fit *most* columns: one line a row.

    What a row is about, the last column, gives way first, then the widest that holds words; an id,
    the first, never does.
    """
    found = list(widths)
    over = sum(found) + GAP * (len(found) - 1) - most
    last = len(found) - 1
    while over > 0:
        inner = [n for n in range(1, last) if words[n] and found[n] > NARROWEST]
        if found[last] > LEAST or (not inner and found[last] > NARROWEST):
            place = last
        elif inner:
            place = max(inner, key=found.__getitem__)
        else:
            break
        found[place] -= 1
        over -= 1
    return found
