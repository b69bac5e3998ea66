"""Collection: what left the projections, because nothing kept it."""

from ..event import Event


class GcCollect(Event, frozen=True, kw_only=True, tag="gc.collect"):
    """Ask for a collection now; `gc.collected` says what may go."""

    belongs = ("gc", "")

    generation: int = 2  # the oldest generation that is looked through: 0, 1 or 2; -1: what is due


class GcCollected(Event, frozen=True, kw_only=True, tag="gc.collected"):
    """A collection ended, or a part of one; a replay reaches the same state.

    `memory.collected` follows with the nodes that left memory. It is without those that were
    touched after `through`, and without what these are joined to.
    """

    belongs = ("gc", "")

    number: int  # of collections and parts, from 1
    generation: int  # the oldest generation that was looked through
    collected: tuple[str, ...]  # ids of nodes, and of packages with "package:" before, sorted
    reasons: tuple[str, ...] = ()  # for which each of them was released
    promoted: int = 0  # survivors that moved one generation up; 0 if more parts follow
    kept: int = 0  # objects of these generations that stay; 0 if more parts follow
    bytes: int = 0  # weight of what went
    revivals: int = 0  # how often something that could go was kept again, up to `through`
    more: bool = False  # whether another part follows
    through: int = 0  # position of the log up to which memory was looked at
    slices: int = 0  # in which the work was done
    longest_us: int = 0  # the longest of them, microseconds
