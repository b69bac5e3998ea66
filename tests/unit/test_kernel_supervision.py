"""Supervision is a table: what follows for a shell from what happens to it, and when."""

from hypothesis import given, settings
from hypothesis import strategies as st

from .kernel_world import supervision

MS = 1_000_000
FIRST_NS, MOST_NS, WELL_NS = 100 * MS, 30_000 * MS, 60_000 * MS


def test_a_shell_is_started_and_must_be_ready_in_time() -> None:
    watched, orders = supervision.begin(5)

    assert orders == (supervision.Start(), supervision.WakeAt(5 + supervision.START_NS))
    assert supervision.looked_at(watched, supervision.START_NS)[1] == ()
    late, orders = supervision.looked_at(watched, 5 + supervision.START_NS)
    assert late.status == "waiting"
    assert orders[0] == supervision.Abandon("it was not ready in time")


def test_the_first_start_is_no_restart() -> None:
    watched, _ = supervision.begin(0)

    assert supervision.started(watched, 1)[1] == ()


def test_a_failed_shell_waits_and_starts_again() -> None:
    watched, _ = supervision.begin(0)
    watched, orders = supervision.failed(watched, "why", 10)
    assert orders == (supervision.WakeAt(10 + FIRST_NS),)
    assert supervision.looked_at(watched, 11)[0].status == "waiting"

    watched, orders = supervision.looked_at(watched, 10 + FIRST_NS)
    assert orders[0] == supervision.Start()
    watched, orders = supervision.started(watched, 20 + FIRST_NS)
    assert orders == (supervision.Restarted("why", 1),)
    assert watched.status == "running"


def test_the_backoff_doubles_up_to_its_bound() -> None:
    waits, watched = [], supervision.begin(0)[0]
    for _ in range(15):
        watched, (wake,) = supervision.failed(watched, "why", 0)
        waits.append(wake.at_ns)
        watched = supervision.looked_at(watched, wake.at_ns)[0]

    assert waits[:4] == [100 * MS, 200 * MS, 400 * MS, 800 * MS]
    assert waits[-1] == MOST_NS


def test_a_shell_that_ran_well_starts_again_with_the_first_backoff() -> None:
    watched = supervision.Watched("running", 0, 9, "why")

    _, soon = supervision.failed(watched, "why", WELL_NS - 1)
    _, late = supervision.failed(watched, "why", WELL_NS)

    assert soon[0].at_ns - (WELL_NS - 1) > FIRST_NS
    assert late[0].at_ns - WELL_NS == FIRST_NS


def test_a_hung_shell_is_let_go_and_replaced() -> None:
    watched, orders = supervision.hung(supervision.Watched("running", 0), "it hangs", 5)

    assert orders == (supervision.Abandon("it hangs"), supervision.WakeAt(5 + FIRST_NS))
    assert (watched.status, watched.reason) == ("waiting", "it hangs")


def test_what_failed_starts_at_once_and_without_its_failures_when_it_is_another_now() -> None:
    waiting = supervision.Watched("waiting", 0, 7, "why", again_ns=100 * MS)
    given_up = supervision.Watched("given up", 0, 7, "why")

    for watched in (waiting, given_up):
        assert supervision.afresh(watched, 5, supervision.SHELLS) == supervision.begin(5)


def test_what_runs_is_not_started_beside_another_that_takes_its_place() -> None:
    for status in ("starting", "running", "stopped"):
        watched = supervision.Watched(status, 0, 7, "why")

        after, orders = supervision.afresh(watched, 5, supervision.SHELLS)

        assert (after.status, orders) == (status, ())
        assert after.failures == (0 if status == "starting" else 7)


def test_what_watches_its_own_start_has_any_time_for_it() -> None:
    own = supervision.Restarts(supervision.SHELLS.backoff, ready_ns=None)

    watched, orders = supervision.begin(0, own)

    assert orders == (supervision.Start(),)
    assert supervision.looked_at(watched, 10**18, own) == (watched, ())


inputs = st.lists(
    st.tuples(
        st.sampled_from(["started", "failed", "hung", "looked_at", "afresh", "stopped"]),
        st.integers(0, 40_000 * MS),
    ),
    max_size=30,
)


@given(inputs)
@settings(max_examples=300, deadline=None)
def test_at_most_one_shell_is_alive_and_none_after_the_end(given_: list[tuple[str, int]]) -> None:
    now_ns = 0
    watched, orders = supervision.begin(now_ns)
    alive, stopped = 1, False
    for kind, wait_ns in given_:
        now_ns += wait_ns
        alive_before = alive
        if kind in ("failed", "hung"):
            if kind == "failed" and watched.status in ("running", "starting"):
                alive -= 1
            watched, orders = getattr(supervision, kind)(watched, "why", now_ns)
        elif kind == "afresh":
            watched, orders = supervision.afresh(watched, now_ns, supervision.SHELLS)
        else:
            watched, orders = getattr(supervision, kind)(watched, now_ns)
        stopped = stopped or kind == "stopped"
        starts = [o for o in orders if isinstance(o, supervision.Start)]
        alive -= sum(isinstance(o, supervision.Abandon) for o in orders)
        alive += len(starts)
        assert 0 <= alive <= 1, (kind, alive_before)
        assert not (stopped and starts)
        assert (watched.status == "waiting") <= (alive == 0)
