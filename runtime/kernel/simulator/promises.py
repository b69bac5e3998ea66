"""What must hold after every schedule, whatever the scenario; each raises AssertionError."""

from collections import defaultdict

from cortex.bus import Event, Filter, Recorded
from cortex.bus.events import ComponentFailed

from ..component import routes_of
from .scenario import Role, Run

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


def one_order(records: list[Recorded]) -> None:
    """Positions and versions are contiguous, ids are different, the time never goes back."""
    versions: dict[str, int] = defaultdict(int)
    time_ns = 0
    for position, record in enumerate(records, 1):
        assert record.position == position, f"position {record.position} stands at {position}"
        versions[record.stream] += 1
        assert record.version == versions[record.stream], f"a version is missing before {record}"
        assert record.time_ns >= time_ns, f"the time goes back at {record}"
        time_ns = record.time_ns
    assert len({record.id for record in records}) == len(records), "two events have one id"


def published_once(run: Run) -> None:
    """Each script is in the log once, whole and in order, where its publisher was told."""
    for client, script in run.scenario.scripts.items():
        mine = [(r.position, r.body) for r in run.records if r.source == client]
        wanted = [event for part in script for event in part]
        read = run.scenario.vocabulary.read
        found = [read(r) for r in run.records if r.source == client]
        assert found == wanted, f"{client} published {wanted}, the log has {found}"
        told = [p for first, last in run.acknowledged[client] for p in range(first, last + 1)]
        assert told == [position for position, _ in mine], f"{client} was told {told}"


def results_once(run: Run, role: Role) -> None:
    """Every event of a component has the results that it must have, once, or was parked."""
    results = _results(run, role)
    for position, event in matching(run, role):
        wanted = role.results(event)
        found = tuple(record.topic for record in results.pop(position, ()))
        parked = role.may_park and found == (FAILED,)
        assert found == wanted or parked, (
            f"{role.name} made {found} of {event} at {position}, expected {wanted}"
        )
    assert not results, f"{role.name} has results of events that are not its own: {results}"


def results_in_order(run: Run, role: Role) -> None:
    """Results stand in the order of the events they come from."""
    causes = [record.causation or 0 for record in _made_by(run, role)]
    assert causes == sorted(causes), f"{role.name} committed out of order: {causes}"


def nothing_left_over(run: Run) -> None:
    """No work waits any more, and no ordered subscriber is behind."""
    state = run.log.state()
    assert not state.work, f"work was left: {state.work}"
    ends = {standing.name: standing.cursor for standing in state.standings}
    for role in run.scenario.roles:
        if not role.component.workers:
            last = max((position for position, _ in matching(run, role)), default=0)
            assert ends[role.name] >= last, f"{role.name} stopped at {ends[role.name]}"


def matching(run: Run, role: Role) -> list[tuple[int, Event]]:
    """The durable events that a component must see, with their positions."""
    pairs = [(r.event.topic_name(), r.key) for r in routes_of(role.component)]
    seen, created = Filter(pairs), run.created[role.name]
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
