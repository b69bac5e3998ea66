"""Which time a question names, as dates; and that no text whatever makes it fail."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.runtime.memory import spans

NOW = datetime(2025, 6, 18, 15, 30, tzinfo=UTC)  # a Wednesday
NOW_NS = int(NOW.timestamp()) * 10**9
EVER = "1970-01-01"
TOMORROW = "2025-06-19"


def days(question: str) -> list[tuple[str, str]]:
    """The first day of each time, and the first that is no longer in it."""
    return [(_day(span.from_ns), _day(span.to_ns)) for span in spans(question, NOW_NS)]


def _day(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).date().isoformat()


@pytest.mark.parametrize(
    ("question", "begins", "ends"),
    [
        ("what happened on 2025-05-03?", "2025-05-03", "2025-05-04"),
        ("what happened in 2025-05?", "2025-05-01", "2025-06-01"),
        ("What failed in May?", "2025-05-01", "2025-06-01"),
        ("what failed in may?", "2025-05-01", "2025-06-01"),
        ("what failed in August?", "2024-08-01", "2024-09-01"),
        ("what failed in August 2023", "2023-08-01", "2023-09-01"),
        ("the release of March 2024", "2024-03-01", "2024-04-01"),
        ("the meeting on May 3", "2025-05-03", "2025-05-04"),
        ("the meeting on May 3rd, 2024", "2024-05-03", "2024-05-04"),
        ("the meeting on 3 May 2024", "2024-05-03", "2024-05-04"),
        ("the meeting on the 3rd of May", "2025-05-03", "2025-05-04"),
        ("the meeting on Dec. 24", "2024-12-24", "2024-12-25"),
        ("who left on February 29?", "2024-02-29", "2024-03-01"),
        ("what did we decide yesterday?", "2025-06-17", "2025-06-18"),
        ("what did we decide today?", "2025-06-18", "2025-06-19"),
        ("what broke last week?", "2025-06-09", "2025-06-16"),
        ("what broke this week?", "2025-06-16", TOMORROW),
        ("what broke last month", "2025-05-01", "2025-06-01"),
        ("what broke last year", "2024-01-01", "2025-01-01"),
        ("what broke in the past week", "2025-06-11", TOMORROW),
        ("what broke in the last 3 days", "2025-06-15", TOMORROW),
        ("what broke in the last three months", "2025-03-20", TOMORROW),
        ("what broke two days ago", "2025-06-16", "2025-06-17"),
        ("what broke a week ago", "2025-06-08", "2025-06-15"),
        ("the plans of 2023", "2023-01-01", "2024-01-01"),
        ("what we knew before May 3", EVER, "2025-05-03"),
        ("what we knew until May", EVER, "2025-06-01"),
        ("what changed since May", "2025-05-01", TOMORROW),
        ("what changed after 2025-05-03", "2025-05-04", TOMORROW),
        ("in the last week before 2025-05-03", "2025-04-26", "2025-05-03"),
        ("the two weeks after May 3", "2025-05-04", "2025-05-18"),
        ("between April 5 and May 3", "2025-04-05", "2025-05-04"),
        ("from March to May", "2025-03-01", "2025-06-01"),
        ("from 2025-03-01 to 2025-03-09", "2025-03-01", "2025-03-10"),
    ],
)
def test_a_time_is_read_as_people_say_it(question: str, begins: str, ends: str) -> None:
    assert days(question) == [(begins, ends)]


@pytest.mark.parametrize(
    "question",
    [
        "what may I eat?",
        "may we march on?",
        "who is June?",
        "may the 2000 tests pass",
        "what costs 2024 euros?",
        "the second of February 31",
        "which database does billing use?",
        "9999-99-99",
        "before we ship, after all, since then",
    ],
)
def test_what_names_no_time_is_read_as_none(question: str) -> None:
    assert days(question) == []


def test_two_times_are_two() -> None:
    assert days("was it in May or in June?") == [
        ("2025-05-01", "2025-06-01"),
        ("2025-06-01", "2025-07-01"),
    ]


WORDS = (
    "in may between before after and 2025-02-30 0 31 last week months 999 ago Feb 2024 to since "
    "the a from 12th of year until two yesterday"
)


@given(
    st.text(max_size=200)
    | st.lists(
        st.sampled_from(WORDS.split()),
        max_size=20,
    ).map(" ".join),
    st.integers(0, 4_000_000_000),
)
def test_no_text_makes_it_fail_and_no_time_is_empty(question: str, now_s: int) -> None:
    for span in spans(question, now_s * 10**9):
        assert span.from_ns < span.to_ns


@given(st.dates(date(1970, 1, 2), date(2099, 12, 31)))
def test_a_whole_date_is_that_day_whenever_it_is_asked(day: date) -> None:
    (span,) = spans(f"what was on {day.isoformat()}?", NOW_NS)

    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    assert span.has(int(noon.timestamp()) * 10**9)
    assert not span.has(int((noon + timedelta(days=1)).timestamp()) * 10**9)
