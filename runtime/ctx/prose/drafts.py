"""A condensation that somebody else wrote: what it lost comes back, whole sentences at a time."""

from . import blocks, checker, sentences


def restored(source: str, draft: str) -> str:
    """*draft*, and every sentence of *source* of which it does not state every fact.

    Where both have equally many paragraphs they are compared one by one, and what is restored
    stands where it was; else the sentences follow behind the draft. What stands in neither of them
    in one piece, such as a number in the draft that the source does not have, is not judged here.
    """
    own, theirs = source.split("\n\n"), draft.split("\n\n")
    if len(own) != len(theirs):
        return _restored(source, draft)
    return "\n\n".join(map(_restored, own, theirs))


def _restored(source: str, draft: str) -> str:
    if checker.holds(source, draft):
        return draft
    lost: list[str] = []
    free = [checker.facts(each) for each in sentences.split(" ".join(draft.split()))]
    for sentence in blocks.units(source):
        wanted = checker.facts(sentence)
        # One sentence of the draft has to state all of it, and can do so for one sentence only:
        # facts of two are facts about neither.
        at = next((at for at, own in enumerate(free) if _states(own, wanted)), None)
        if at is None:
            lost.append(sentence)
        elif wanted:
            del free[at]
    result = " ".join([_ended(draft), *lost])
    return source if checker.missing(source, result) else result


def _ended(draft: str) -> str:
    """*draft* with an end, so that what follows begins a sentence."""
    trimmed = draft.rstrip()
    return trimmed if trimmed.endswith((".", "!", "?", ":")) or not trimmed else trimmed + "."


def _states(facts: list[checker.Fact], wanted: list[checker.Fact]) -> bool:
    own = iter(facts)
    return all(any(fact == other for other in own) for fact in wanted)
