"""What must hold after every schedule, whatever the scenario; each raises AssertionError."""

from collections import defaultdict

from cortex.bus import Event, Filter, Recorded
from cortex.bus.events import ComponentFailed

from .errors import insist
from .scenario import Role, Run, pairs_of

FAILED = ComponentFailed.topic_name()


def check(run: Run) -> None:
    """Check all of them."""
    one_order(run.records)
    published_once(run)
    for role in run.scenario.roles:
        results_once(run, role)
        if not role.component.workers:
            results_in_order(run, role)
    nothing_left_over(run)
    followed_whole(run)


def one_order(records: list[Recorded]) -> None:
    """Positions and versions are contiguous, ids are different, the time never goes back."""
    versions: dict[str, int] = defaultdict(int)
    time_ns = 0
    for position, record in enumerate(records, 1):
        insist(record.position == position, "position {} stands at {}", record.position, position)
        versions[record.stream] += 1
        insist(record.version == versions[record.stream], "a version is missing before {}", record)
        insist(record.time_ns >= time_ns, "the time goes back at {}", record)
        time_ns = record.time_ns
    insist(len({record.id for record in records}) == len(records), "two events have one id")


def published_once(run: Run) -> None:
    """Each script is in the log once, whole and in order, where its publisher was told."""
    for client, script in run.scenario.scripts.items():
        mine = [(r.position, r.body) for r in run.records if r.source == client]
        wanted = [event for part in script for event in part]
        read = run.scenario.vocabulary.read
        found = [read(r) for r in run.records if r.source == client]
        insist(found == wanted, "{} published {}, the log has {}", client, wanted, found)
        told = [p for first, last in run.acknowledged[client] for p in range(first, last + 1)]
        insist(told == [position for position, _ in mine], "{} was told {}", client, told)


def results_once(run: Run, role: Role) -> None:
    """Every event of a component has the results that it must have, once, or was parked."""
    if role.results is None:
        return
    results = _results(run, role)
    for position, event in matching(run, role):
        wanted = role.results(event)
        found = tuple(record.topic for record in results.pop(position, ()))
        parked = role.may_park and found == (FAILED,)
        insist(
            found == wanted or parked,
            "{} made {} of {} at {}, expected {}",
            role.name,
            found,
            event,
            position,
            wanted,
        )
    insist(not results, "{} has results of events that are not its own: {}", role.name, results)


def results_in_order(run: Run, role: Role) -> None:
    """Results stand in the order of the events they come from."""
    causes = [record.causation or 0 for record in _made_by(run, role)]
    insist(causes == sorted(causes), "{} committed out of order: {}", role.name, causes)


def nothing_left_over(run: Run) -> None:
    """No work waits any more, and no ordered subscriber is behind what it has to say something to.

    A cursor need not move at once past events that nothing came of.
    """
    state = run.log.state()
    insist(not state.work, "work was left: {}", state.work)
    ends = {standing.name: standing.cursor for standing in state.standings}
    for role in run.scenario.roles:
        if not role.component.workers:
            told = [p for p, e in matching(run, role) if role.results and role.results(e)]
            last = max(told, default=0)
            insist(ends[role.name] >= last, "{} stopped at {}", role.name, ends[role.name])


def followed_whole(run: Run) -> None:
    """Whoever only looks holds everything, and no mixture with what the log has lost."""
    for name, pairs in run.scenario.followers.items():
        seen = Filter(pairs)
        wanted = {r.position: r.id for r in run.records if seen.matches(r.topic, r.key)}
        shown = run.followed[name]
        insist([*shown] == [*wanted], "{} was shown {}, the log has {}", name, shown, wanted)
        mixed = [position for position, found in shown.items() if found != wanted[position]]
        insist(not mixed, "{} holds what the log has lost, at {}", name, mixed)


def matching(run: Run, role: Role) -> list[tuple[int, Event]]:
    """The durable events that a component must see, with their positions."""
    seen, created = Filter(pairs_of(role.component)), run.created[role.name]
    read = run.scenario.vocabulary.read
    return [
        (r.position, read(r))
        for r in run.records
        if r.position > created and seen.matches(r.topic, r.key)
    ]


def _results(run: Run, role: Role) -> dict[int, list[Recorded]]:
    found: dict[int, list[Recorded]] = defaultdict(list)
    for record in _made_by(run, role):
        found[record.causation or 0].append(record)
    return found


def _made_by(run: Run, role: Role) -> list[Recorded]:
    return [r for r in run.records if r.source == role.name and r.topic not in role.deadlines]
