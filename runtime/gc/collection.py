"""What a collection found, as it is recorded, and what the heap remembers of what went."""

from msgspec import Struct


class Collection(Struct, frozen=True, kw_only=True):
    """A finished collection, or a part of one that has more ids than fit into one event."""

    generation: int  # it looked at this generation and the younger ones
    number: int  # 1, 2, 3, ... over all generations
    collected: tuple[str, ...]  # ids, sorted
    promoted: int = 0  # how many survivors go one generation up; 0 if more parts follow
    kept: int = 0  # how many objects of these generations stay; 0 if more parts follow
    bytes: int = 0  # the weight of what is collected
    revivals: int = 0  # `Heap.revivals` when it was made; at its record higher if there was a race
    more: bool = False  # another part follows; survivors age with the last one


class Buried(Struct, frozen=True, array_like=True, gc=False):  # Python's collector skips it
    """A collected object, as the heap remembers it."""

    number: int  # of the collection that removed it
    generation: int  # that it was in
    looked_at: int  # the generation that was collected
    kind: str
    reason: str  # for which its owner had released it
    weight: int
    references: bytes  # ids that it kept, with the kinds of the references: msgpack, far smaller
