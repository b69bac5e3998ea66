"""Which faults a schedule has, and how often."""

import random

import msgspec


class Faults(msgspec.Struct, frozen=True):
    """Chances are per message, write or handled page; a mean of 0 s is never."""

    lasting_s: float = 15.0  # then they stop, and everything must come to its end
    drop: float = 0.0  # a request or an answer is lost
    duplicate: float = 0.0  # it arrives twice, the second time later
    stray: float = 0.0  # it is overtaken by seconds
    write_fails: float = 0.0
    disk_s: float = 0.001  # the longest that one write takes
    stall_s: float = 0.0  # mean time between stalls of the disk, in which no write ends
    partition_s: float = 0.0  # mean time between cuts, each of one client from the hub
    hub_crash_s: float = 0.0  # mean time between crashes of the hub
    tail_lost: float = 0.0  # its log loses the newest commits with it, down to the last synced one
    crash_s: float = 0.0  # mean time between crashes of a client's process, or a component's
    start_fails: float = 0.0  # `on_start` raises
    handler_fails: float = 0.0  # a handler raises an exception
    handler_exits: float = 0.0  # it raises SystemExit, which ends its shell
    slow: float = 0.0  # it takes longer than its lease
    hangs: float = 0.0  # it does not come back
    renewal_lost: float = 0.0  # a lease is not renewed

    @classmethod
    def drawn(cls, chance: random.Random) -> "Faults":
        """Some of the faults, each as often or as rarely as *chance* has it.

        Not all at once: what never fails in a schedule lets it get to the deeper states.
        """

        def maybe(most: float) -> float:
            return chance.random() * most if chance.random() < 0.5 else 0.0

        return cls(
            drop=maybe(0.2),
            duplicate=maybe(0.3),
            stray=maybe(0.2),
            write_fails=maybe(0.2),
            disk_s=chance.choice((0.0005, 0.005, 0.5)),
            hub_crash_s=chance.choice((0.0, 0.0, 1.0, 4.0)),
            crash_s=chance.choice((0.0, 0.0, 0.5, 2.0)),
            start_fails=maybe(0.3),
            handler_fails=maybe(0.2),
            handler_exits=maybe(0.1),
            slow=maybe(0.3),
            hangs=maybe(0.05),
            renewal_lost=maybe(0.8),
            stall_s=chance.choice((0.0, 0.0, 1.0, 4.0)),
            partition_s=chance.choice((0.0, 0.0, 1.0, 4.0)),
            tail_lost=maybe(1.0),
        )
