"""The gates that a grant to approve can name: those of the processes of a home."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import UNSET

from cortex.runtime.kernel import RefusedError
from cortex.runtime.projections import HomeLog

from .. import LinkedProcess, listed, nearest
from .catalog import Catalog

# By process; None where it is not known which it has.
Gates: TypeAlias = Mapping[str, tuple[str, ...] | None]
ANY = "*"


def wrong_gate(gates: Gates, patterns: Iterable[str]) -> str:
    """What is wrong with the first of *patterns* that fits no gate there is; "" where all fit."""
    for pattern in patterns:
        process, _, gate = pattern.partition("/")
        if not gate:
            continue  # "*" alone, or no pattern, which is said elsewhere
        if process != ANY and process not in gates:
            near = nearest(process, gates)
            hint = f"did you mean {near}/{gate}?" if near else f"there are {listed(gates)}"
            return f"{pattern!r}: there is no process {process} yet: {hint}"
        of = list(gates.values()) if process == ANY else [gates[process]]
        if None in of:
            continue  # it may have that gate
        names = sorted({name for each in of for name in each or ()})
        if gate != ANY and gate not in names:
            near = nearest(gate, names)
            hint = f"did you mean {process}/{near}?" if near else f"there are {listed(names)}"
            lacks = f"no process has a gate {gate}" if process == ANY else f"it has no gate {gate}"
            return f"{pattern!r}: {lacks}: {hint}"
    return ""


def gates_of(history: HomeLog) -> Gates:
    """The gates of each process that was compiled."""
    catalog = Catalog(history)
    found: dict[str, tuple[str, ...] | None] = {}
    for name in catalog.names():
        try:
            linked = catalog.linked(catalog.get(name))
        except RefusedError:
            continue  # of an older form: a run reports it
        if isinstance(linked, LinkedProcess):
            found[name] = gates_within(linked)
    return found


def gates_within(process: LinkedProcess) -> tuple[str, ...]:
    """The gates of *process*, of its steps, and of their goals."""
    gates = [*process.gates]
    for step in process.steps:
        gates += step.gates
        if step.goal is not UNSET:
            gates += step.goal.check
            gates += (gate for grant in step.goal.grants for gate in grant.gates)
    return tuple(dict.fromkeys(gate.name for gate in gates))
