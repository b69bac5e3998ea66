"""Who is connected to a hub, as it is shown."""

import msgspec


class Connected(msgspec.Struct, frozen=True):
    """One client program that is connected."""

    name: str
    carrier: str
    address: str
    connections: int
    since_ns: int
    leases: tuple[tuple[str, int], ...] = ()  # subscription and position of work that it holds
    answers: tuple[str, ...] = ()  # topics of queries that it answers
    questions: int = 0  # that wait for its answer
    blobs: int = 0  # that it is putting, half done
    blob_bytes: int = 0  # of them that have arrived
