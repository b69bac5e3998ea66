"""Events of a home, by what they have: the same with a whole index, half of one, and none."""

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import FORMAT, Batch, Recorded, Row, decode, encode
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog, PastLog
from cortex.runtime.projections import EventIndex, HomeLog, Runner, Selection

PAGE = 1_024  # events of one read

COUNT = 3_000  # more than a page
TOPICS = ["execution.request", "execution.completed", "step.failed", "gate.evaluated"]


def record(n: int) -> Recorded:
    return Recorded(
        format=FORMAT,
        position=n,
        stream=f"execution/e{n % 50}",
        version=(n - 1) // 50 + 1,
        id=n.to_bytes(16, "big"),
        time_ns=n // 4 * 10,  # four events share a time
        topic=TOPICS[n * 7 % 11 % len(TOPICS)],
        schema=1,
        correlation=f"e{n % 50}",
        causation=n // 2 or None,
        source=("planner", "worker")[n % 13 % 2],
        key=None if n % 2 else f"k{n % 40}",
        subject=None,
        body=b"\x80",
    )


RECORDS = [record(n) for n in range(1, COUNT + 1)]


@pytest.fixture(scope="module", params=["whole", "half", "none"])
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home.create(tmp_path_factory.mktemp("log") / ".cortex")
    with closing(EventLog.open(home.log_path)) as log:
        rows = [Row(r.position, r.stream, r.version, encode(r)) for r in RECORDS]
        log.write(Batch(rows=rows))
        if request.param != "none":
            runner = Runner.open(home.projections_path, [EventIndex()])
            runner.advance(log if request.param == "whole" else PastLog(log, COUNT // 2))
            runner.close()
    return home


selections = st.builds(
    Selection,
    topics=st.lists(st.sampled_from(["*", "*.failed", "execution.*", *TOPICS]), max_size=2).map(
        tuple
    ),
    since_ns=st.none() | st.integers(-5, COUNT * 3),
    until_ns=st.none() | st.integers(-5, COUNT * 3),
    execution=st.sampled_from(["", "", "e7", "e49", "none"]),
    source=st.sampled_from(["", "", "worker", "nobody"]),
    key=st.sampled_from(["", "", "k6", "none"]),
    stream=st.sampled_from(["", "", "", "execution/e7", "none"]),
    cause=st.sampled_from([0, 0, 0, 1, 700, COUNT]),
)


@settings(max_examples=60, deadline=None)
@given(
    selection=selections,
    after=st.sampled_from([0, 0, 1, 1_500, COUNT]),
    through=st.sampled_from([None, None, 0, 1, 1_030, COUNT]),
)
def test_what_is_selected_is_what_a_walk_over_the_log_finds(
    home: Home, selection: Selection, after: int, through: int | None
) -> None:
    there = RECORDS if through is None else RECORDS[:through]
    walked = [r for r in there if selection.fits(r)]

    with HomeLog.open(home if through is None else home.at(through)) as log:
        forth = list(log.select(selection, after))
        back = list(log.newest(selection))

    assert forth == [r for r in walked if r.position > after]
    assert back == walked[::-1]


@pytest.mark.parametrize(
    "selection",
    [
        Selection(topics=("execution.*",)),
        Selection(execution="e7"),
        Selection(cause=700),
        Selection(stream="execution/e7"),
        Selection(since_ns=COUNT, until_ns=2 * COUNT),
    ],
    ids=["topics", "execution", "cause", "stream", "times"],
)
def test_the_first_and_the_last_are_found_without_a_look_at_the_rest(
    home: Home, selection: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bytes] = []

    def counted(data: bytes) -> Recorded:
        read.append(data)
        return decode(data)

    monkeypatch.setattr("cortex.runtime.projections.home_log.decode", counted)
    with HomeLog.open(home) as log:
        assert next(iter(log.select(selection))) == next(filter(selection.fits, RECORDS))
        assert next(iter(log.newest(selection))) == next(filter(selection.fits, RECORDS[::-1]))
    indexed = home.projections_path.exists()
    assert len(read) <= (2 * PAGE + 100 if indexed else 2 * COUNT), len(read)
