"""The room that is left for items once the fixed text of every section has its place."""

from collections.abc import Mapping

from ..errors import ContextRefusedError
from ..layout.render import Fixed, heading
from ..request import SECTIONS, Bounds, Section
from .fit import Count, Room, Sized


def reserve(
    items: list[Sized], fixed: Fixed, bound: Bounds, short: Mapping[Section, int], count: Count
) -> Room:
    """Take headings and fixed text off the bounds; *short* is what an earlier round overshot by.

    Raises:
        ContextRefusedError: A fixed section is over its budget, or all of them together are over
            the effective window.
    """
    used = {section.ranked.item.section for section in items}
    taken: dict[Section, int] = {}
    for section in SECTIONS:
        text, _ = fixed.get(section, ("", ()))
        own = count(heading(section) + text) if text else 0
        _check_section(section, own, bound)
        taken[section] = own or (count(heading(section)) if section in used else 0)
    free = bound.prompt - sum(taken.values())
    if free < 0:
        raise _all_too_big(taken, bound)
    return Room(
        {s: max(0, bound.section(s) - taken[s] - short.get(s, 0)) for s in SECTIONS},
        max(0, free - sum(short.values())),
    )


def _check_section(section: Section, tokens: int, bound: Bounds) -> None:
    limit = bound.section(section)
    if tokens > limit:
        raise ContextRefusedError(
            section,
            tokens,
            limit,
            f"budgets.{section}",
            f"shorten it, or set budgets.{section} to {tokens:,} or more",
        )


def _all_too_big(taken: dict[Section, int], bound: Bounds) -> ContextRefusedError:
    biggest = max(taken, key=lambda section: taken[section])
    needed = sum(taken.values())
    return ContextRefusedError(
        "the text that every prompt of this step holds",
        needed,
        max(bound.prompt, 0),
        "effective_window less headroom",
        f"the largest part is {biggest} with {taken[biggest]:,}; shorten it, or raise "
        f"effective_window to {needed + bound.budgets.headroom:,} or more",
    )
