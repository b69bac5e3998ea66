"""The gates that a grant to approve can be about: those of the processes that a home knows."""

from collections.abc import Iterable, Mapping

from cortex.runtime.processes import LinkedProcess, listed, nearest

from ..errors import RefusedError
from .catalog import Catalog
from .history import History

ANY = "*"


def wrong_gate(history: History, patterns: Iterable[str]) -> str:
    """What is wrong with the first of *patterns* that fits no gate there is; "" where all fit.

    Where no process is known yet, nothing is.
    """
    gates = gates_of(history)
    for pattern in patterns if gates else ():
        process, _, gate = pattern.partition("/")
        if not gate:
            continue  # "*" alone, or no pattern, which is said elsewhere
        if process != ANY and process not in gates:
            near = nearest(process, gates)
            hint = f"did you mean {near}/{gate}?" if near else f"there are {listed(gates)}"
            return f"{pattern!r}: there is no process {process}: {hint}"
        of = gates.values() if process == ANY else [gates[process]]
        names = sorted({name for each in of for name in each})
        if gate != ANY and gate not in names:
            near = nearest(gate, names)
            hint = f"did you mean {process}/{near}?" if near else f"there are {listed(names)}"
            lacks = f"no process has a gate {gate}" if process == ANY else f"it has no gate {gate}"
            return f"{pattern!r}: {lacks}: {hint}"
    return ""


def gates_of(history: History) -> Mapping[str, tuple[str, ...]]:
    """The gates of each process that is known, those of its steps among them."""
    catalog = Catalog(history)
    found: dict[str, tuple[str, ...]] = {}
    for name in catalog.names():
        try:
            linked = catalog.linked(catalog.get(name))
        except RefusedError:
            continue  # of an older form: whoever runs it is told
        if isinstance(linked, LinkedProcess):
            steps = (gate.name for step in linked.steps for gate in step.gates)
            found[name] = tuple(dict.fromkeys((*(gate.name for gate in linked.gates), *steps)))
    return found
