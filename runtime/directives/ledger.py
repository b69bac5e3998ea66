"""What is laid down in one scope: branches with their states, histories and undo stacks; a fold.

Every value here is immutable and shares what is equal with the one it came from, so that keeping
all that can be undone costs a few nodes an update. `main` is the branch that is in force; others
are for trying things out. What the fold is given are facts; it decides nothing.
"""

from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from cortex.bus import Event
from cortex.bus.events import (
    DirectiveApplied,
    DirectiveBranched,
    DirectiveClarificationAsked,
    DirectiveMerged,
    DirectivePassed,
    DirectivePinned,
    DirectiveRedone,
    DirectiveUndone,
)

from .change import Answered, Change
from .state import INITIAL, State, fold
from .text_map import EMPTY, TextMap

MAIN: Final = "main"
ENGINE: Final = "DirectiveEngine"  # the `source` of the facts
FACT: Final = "fact"
POLICY: Final = "policy"


def part_of(kind: str, name: str) -> str:
    """The name of a fact, or of a policy, among all parts of a state."""
    return f"{kind}/{name}"


def parts_changed(before: State, after: State) -> list[tuple[str, str, str]]:
    """Part, value before and value after of each that differs, in order; "" for nothing."""
    found = (
        (part_of(kind, name), was or "", now or "")
        for kind, here, there in (
            (FACT, before.facts, after.facts),
            (POLICY, before.policies, after.policies),
        )
        for name, was, now in here.changes_to(there)
    )
    return sorted(found)


class Content(Struct, frozen=True):
    """What is laid down, and the event behind each part of it."""

    state: State = INITIAL
    # Positions of requests by part ("fact/premise", "policy/docker"):
    since: TextMap = EMPTY  # behind each fact and policy
    cleared: TextMap = EMPTY  # that cleared each which is gone

    def after(self, changes: tuple[Change, ...], position: int) -> "Content":
        """This, after *changes* by the request at *position*."""
        state = fold(self.state, changes)
        parts = parts_changed(self.state, state)
        since = {part: str(position) if value else None for part, _, value in parts}
        cleared = {part: None if value else str(position) for part, _, value in parts}
        return Content(state, self.since.updated(since), self.cleared.updated(cleared))

    def instead_of(self, before: "Content", position: int) -> "Content":
        """This, where it takes the place of *before* by the request at *position*.

        What an undo or a redo takes away was cleared by it.
        """
        gone = (part for part, _, value in parts_changed(before.state, self.state) if not value)
        return replace(self, cleared=self.cleared.updated(dict.fromkeys(gone, str(position))))

    def having_merged(self, there: "Content") -> "Content":
        """This, after a merge of *there*: what was cleared there, and is not here, was cleared."""
        cleared = {
            part: theirs
            for part, ours, theirs in self.cleared.changes_to(there.cleared)
            if theirs is not None and int(theirs) > int(ours or 0) and not self.value(part)
        }
        return replace(self, cleared=self.cleared.updated(cleared)) if cleared else self

    def value(self, part: str) -> str:
        """The value of a fact, or the rule of an item; "" for nothing."""
        kind, _, name = part.partition("/")
        found = self.state.facts if kind == FACT else self.state.policies
        return found.get(name) or ""

    def position(self, part: str) -> int:
        """Position of the request behind a fact or policy; 0 for none."""
        return int(self.since.get(part) or 0)

    def cleared_at(self, part: str) -> int:
        """Position of the request that cleared a fact or policy which is gone; 0 for none."""
        return int(self.cleared.get(part) or 0)


class UndoStep(Struct, frozen=True):
    """A content that an undo, or a redo, gives back; and the next one."""

    content: Content
    position: int  # of the request that led away from it
    under: "UndoStep | None" = None


class Branch(Struct, frozen=True):
    """One line of a scope."""

    content: Content = Content()
    settled: Content = Content()  # before the open question, if there is one
    undo: UndoStep | None = None
    redo: UndoStep | None = None
    pinned: frozenset[str] = frozenset()
    parent: str = ""  # the branch from which it started
    forked: Content = Content()  # of the parent, then
    forked_at: int = 0
    redo_ended: bool = False  # by a directive since the undo, which changed nothing


class Base(Struct, frozen=True):
    """From what two branches went apart."""

    content: Content = Content()
    position: int = 0


class ScopeLedger(Struct, frozen=True):
    """All branches of a scope."""

    branches: dict[str, Branch] = field(default_factory=lambda: {MAIN: Branch()})
    merged: dict[tuple[str, str], Base] = {}  # where two branches met last; names in order

    def base(self, one: str, other: str) -> Base:
        """Where two branches went apart: their last merge, else the fork of the older one."""
        met = self.merged.get(pair(one, other), Base())
        line = self._line(one)
        common = [name for name in self._line(other) if name in line]
        if not common:
            return met
        forks = (line[common[0]], self._line(other)[common[0]])
        return max((met, min(forks, key=_position)), key=_position)

    def _line(self, name: str) -> dict[str, Base]:
        """The branches on the way to the oldest one, each as it was when the line left it."""
        branch = self.branches[name]
        line = {name: Base(branch.content, 1 << 62)}
        while branch.parent and branch.parent in self.branches and branch.parent not in line:
            line[branch.parent] = Base(branch.forked, branch.forked_at)
            branch = self.branches[branch.parent]
        return line


EMPTY_LEDGER: Final = ScopeLedger()


def _position(base: Base) -> int:
    return base.position


def pair(one: str, other: str) -> tuple[str, str]:
    """Two names in order."""
    return (one, other) if one < other else (other, one)


def evolve(ledger: ScopeLedger, fact: Event, position: int) -> ScopeLedger:
    """The scope after *fact*, to which the request at *position* led; others change nothing."""
    match fact:
        case DirectiveBranched(deleted=True):
            rest = {name: each for name, each in ledger.branches.items() if name != fact.name}
            # Another branch of that name has nothing to do with its merges.
            merged = {pair: base for pair, base in ledger.merged.items() if fact.name not in pair}
            return ScopeLedger(rest, merged)
        case _ if not _has_branches(ledger, fact):
            return ledger  # they began with an event that was erased
        case DirectiveBranched():
            source = ledger.branches[fact.branch]
            made = Branch(
                content=source.settled,
                settled=source.settled,
                pinned=source.pinned,
                parent=fact.branch,
                forked=source.settled,
                forked_at=position,
            )
            return replace(ledger, branches={**ledger.branches, fact.name: made})
        case DirectiveMerged():
            return _merged(ledger, fact, position)
        case (
            DirectiveApplied()
            | DirectiveClarificationAsked()
            | DirectivePassed()
            | DirectiveUndone()
            | DirectiveRedone()
            | DirectivePinned()
        ):
            branch = _evolved(ledger.branches[fact.branch], fact, position)
            return replace(ledger, branches={**ledger.branches, fact.branch: branch})
        case _:
            return ledger


def _has_branches(ledger: ScopeLedger, fact: Event) -> bool:
    names = [getattr(fact, "branch", MAIN)]
    if isinstance(fact, DirectiveMerged) and fact.source_scope == fact.scope:
        names.append(fact.source)
    return all(name in ledger.branches for name in names)


def _evolved(branch: Branch, fact: Event, position: int) -> Branch:
    match fact:
        case DirectiveUndone(undone=undone):
            return _undone(branch, undone, position)
        case DirectiveRedone(redone=redone):
            return _redone(branch, redone, position)
        case DirectivePinned(name=name, pinned=pinned):
            names = branch.pinned | {name} if pinned else branch.pinned - {name}
            return replace(branch, pinned=names)
        case DirectiveApplied(changes=changes):
            after = _changed(branch, changes, position)
            answers = any(isinstance(each, Answered) for each in changes)
            return after if fact.changed or answers else replace(after, redo_ended=True)
        case DirectiveClarificationAsked(changes=changes) | DirectivePassed(changes=changes):
            return _changed(branch, changes, position)
        case _:
            return branch


def _changed(branch: Branch, changes: tuple[Change, ...], position: int) -> Branch:
    content = branch.content.after(changes, position)
    if content.state.pending is not None:
        return replace(branch, content=content)
    if content.state == branch.settled.state:
        return replace(branch, content=branch.settled)
    undo = UndoStep(branch.settled, position, branch.undo)
    return replace(branch, content=content, settled=content, undo=undo, redo=None)


def _undone(branch: Branch, undone: int, position: int) -> Branch:
    if branch.content.state.pending is not None:
        return replace(branch, content=branch.settled)
    step = branch.undo
    if step is None or step.position != undone:
        return branch  # what it took back was erased
    # What could be redone before a directive that changed nothing is over.
    under = None if branch.redo_ended else branch.redo
    redo = UndoStep(branch.settled, step.position, under)
    content = step.content.instead_of(branch.settled, position)
    return replace(
        branch, content=content, settled=content, undo=step.under, redo=redo, redo_ended=False
    )


def _redone(branch: Branch, redone: int, position: int) -> Branch:
    step = branch.redo
    if step is None or step.position != redone:
        return branch  # what it made again was erased
    undo = UndoStep(branch.settled, step.position, branch.undo)
    content = step.content.instead_of(branch.settled, position)
    return replace(branch, content=content, settled=content, undo=undo, redo=step.under)


def _merged(ledger: ScopeLedger, fact: DirectiveMerged, position: int) -> ScopeLedger:
    branch = _changed(ledger.branches[fact.branch], fact.changes, position)
    if fact.source_scope != fact.scope:
        return replace(ledger, branches={**ledger.branches, fact.branch: branch})
    source = ledger.branches[fact.source].settled
    content = branch.settled.having_merged(source)
    branch = replace(branch, content=content, settled=content)
    branches = {**ledger.branches, fact.branch: branch}
    met = Base(source, position)
    merged = {**ledger.merged, pair(fact.branch, fact.source): met}
    return ScopeLedger(branches, merged)
