"""Statements that replace others: found with a certainty, ranked, followed over several facts."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.memory.updates import (
    LIKELY,
    SURE,
    Facts,
    Hit,
    Statement,
    answerable,
    asks_for_past,
    history,
    may_replace,
    order_current,
    replaced,
)

STEADY = settings(max_examples=60, deadline=None, derandomize=True)
TEXT = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "The deadline of Apollo is May 3.",
            "The deadline of Apollo was moved to May 9.",
            "I no longer live in Rome but in Oslo.",
            "We now use Postgres instead of MySQL.",
            "Should we move the deadline of Apollo?",
            "from instead of not longer",
            "'s of the",
        ]
    ),
)
STATEMENTS = st.lists(
    st.builds(Statement, id=st.uuids().map(str), text=TEXT, time_ns=st.integers(0, 9)), max_size=8
)


def said(*texts: str, speaker: str = "user") -> list[Statement]:
    """*texts* as statements, one after the other."""
    return [Statement(f"s{at}", text, at, speaker) for at, text in enumerate(texts)]


def certainty(old: str, new: str) -> float:
    """How surely *new* replaces *old*."""
    first, second = said(old, new)
    return max((one.certainty for one in replaced(second, [first])), default=0.0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My interview is on April 20.", "My interview is moved to May 3."),
        ("We use MySQL.", "We now use Postgres instead of MySQL."),
        ("I set the limit to 150.", "I increased the limit to 200 from 150."),
        # The "from" of an older statement says nothing of what it is about.
        ("The budget of Mars was raised from $50 to $95.", "The budget of Mars was cut to $12."),
        ("I live in Berlin.", "I no longer live in Berlin."),
        ("I like sushi.", "I don't like sushi anymore."),
        ("Kofi is the lead of Apollo.", "Rosa is now the lead of Apollo."),
        ("The rate limit of login is 50 requests.", "The rate limit of login is 80 requests now."),
    ],
)
def test_another_value_of_the_same_attribute_surely_replaces_the_older_one(
    old: str, new: str
) -> None:
    assert certainty(old, new) >= SURE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The deadline of Apollo is May 3.", "The deadline of Dune is May 9 now."),
        ("The deadline of Apollo is May 3.", "The budget of Apollo is $30,000 now."),
        ("The deadline of Apollo is May 3.", "Should we move the deadline of Apollo to May 9?"),
        ("The deadline of Apollo is May 3.", "We might move the deadline of Apollo to May 9."),
        ("I like sushi.", "I also like ramen."),
        ("The lead of Dune is Tara.", "The lead of Apollo is Tara now."),
        ("Anna lives in Oslo.", "Boris lives in Oslo now."),
        ("The deadline of Apollo is May 3.", "The deadline of Apollo is May 3."),
    ],
)
def test_what_is_true_beside_the_older_statement_replaces_nothing(old: str, new: str) -> None:
    assert certainty(old, new) < LIKELY


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Wow, Anna, that sounds awesome!", "Wow, Boris, that painting is awesome!"),
        ("Thanks, Anna! It means a lot.", "Thanks, Boris! It means the world."),
        ("I love painting lakes.", "I love painting forests."),
    ],
)
def test_small_talk_is_never_sure_to_replace_anything(old: str, new: str) -> None:
    assert certainty(old, new) < SURE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ticket 17 is now closed", "Ticket 18 is now closed"),
        ("Phase two is now ready", "Phase three is now ready"),
        ("Customer Acme is now live", "Customer Globex is now live"),
        ("Plan A is now valid", "Plan B is now valid"),
        ("The deadline of project A is now May 3", "The deadline of project B is now May 5"),
        ("We merged PR 12", "We have merged PR 13"),
        ("We closed ticket 17", "We now closed ticket 18"),
        ("We removed the plugin Alpha", "We removed the plugin Beta"),
        ("The report for Monday is now sent", "The report for Tuesday is now sent"),
        ("We now support Python 3.11", "We now support Python 3.12"),
        ("The build on main failed with error 12", "The build on main failed with error 13"),
    ],
)
def test_what_is_done_with_the_next_thing_does_not_surely_replace_the_one_before(
    old: str, new: str
) -> None:
    assert certainty(old, new) < SURE


def test_two_speakers_never_replace_what_each_says_of_himself() -> None:
    (old,) = said("My interview is on April 20.", speaker="anna")
    new = Statement("new", "My interview is moved to May 3.", 5, "boris")

    assert replaced(new, [old]) == ()


def test_only_older_statements_are_replaced_and_the_reason_names_both_values() -> None:
    old, new = said("The deadline of Apollo is April 20.", "The deadline of Apollo is now May 3.")

    assert replaced(old, [new]) == ()
    (found,) = replaced(new, [old])
    assert found.old_id == old.id
    assert "'May 3'" in found.reason
    assert "'April 20'" in found.reason


@STEADY
@given(STATEMENTS, STATEMENTS)
def test_replacing_is_bounded_ordered_and_repeatable(
    olds: list[Statement], news: list[Statement]
) -> None:
    for new in news:
        found = replaced(new, olds)

        assert found == replaced(new, list(reversed(olds)))
        assert all(LIKELY <= one.certainty <= 1 for one in found)
        assert all(one.certainty >= two.certainty for one, two in pairwise(found))
        times = {old.id: old.time_ns for old in olds}
        assert all(times[one.old_id] < new.time_ns for one in found)


@STEADY
@given(STATEMENTS, STATEMENTS)
def test_a_higher_bound_only_leaves_out_what_is_below_it(
    olds: list[Statement], news: list[Statement]
) -> None:
    for new in news:
        found = replaced(new, olds)

        for least in (0.8, 0.92, SURE):
            above = tuple(one for one in found if one.certainty >= least)
            assert replaced(new, olds, least) == above
            assert may_replace(new.text, least) or not above


def test_the_bound_of_the_sure_leaves_out_nothing_that_is_sure() -> None:
    chance = random.Random(3)
    forms = ("The {} of {} is {}.", "The {} of {} is now {}.", "{} of {}: {}, we talked about it")
    told = said(
        *(
            chance.choice(forms).format(what, who, value)
            for what in ("deadline", "budget", "owner")
            for who in ("Apollo", "Hermes", "the search")
            for value in ("May 3", "1,200", "Anna", "June 9", "Boris")
        )
    )
    sure = [replaced(new, told, SURE) for new in told]

    assert sum(map(len, sure)) > 5
    for new, found in zip(told, sure, strict=True):
        assert found == tuple(one for one in replaced(new, told) if one.certainty >= SURE)
        assert may_replace(new.text, SURE) or not found


@pytest.mark.parametrize(
    "text",
    [
        "we drink tea these days.",
        "At the moment it is green.",
        "From this spring on it is green.",
        "As of the spring it is green.",
        "It turns out that it is green.",
        "We don\u2019t live there any more.",
        "We do not live there anymore.",
        "She gave up tea.",
        "In lieu of tea, milk.",
    ],
)
def test_an_idiom_announces_a_change_as_one_word_does(text: str) -> None:
    assert may_replace(text, SURE)
    assert not may_replace("it is green.", SURE)


@STEADY
@given(TEXT, STATEMENTS, st.randoms(use_true_random=False), st.booleans())
def test_ordering_keeps_each_hit_once(
    question: str, statements: list[Statement], chance: random.Random, complete: bool
) -> None:
    hits = [
        Hit(one, 1 / (at + 1), chance.choice(["", *[other.id for other in statements]]))
        for at, one in enumerate(statements)
    ]

    ordered = order_current(question, hits, complete=complete)

    assert sorted(hit.statement.id for hit in ordered) == sorted(one.id for one in statements)


def test_the_newer_statement_stands_above_the_older_one_without_an_edge() -> None:
    old, other, new = said(
        "The deadline of Apollo is May 3.",
        "The deadline of Dune is June 1.",
        "The deadline of Apollo was moved to May 9.",
    )
    hits = [Hit(old, 1.0), Hit(new, 0.9), Hit(other, 0.5)]

    ordered = order_current("What is the deadline of Apollo?", hits)

    assert [hit.statement for hit in ordered] == [new, old, other]


def test_a_newer_statement_about_something_else_does_not_rise() -> None:
    asked, newer = said("The deadline of Apollo is May 3.", "The deadline of Dune is June 1.")
    hits = [Hit(asked, 1.0), Hit(newer, 0.8)]

    ordered = order_current("What is the deadline of Apollo?", hits)

    assert [hit.statement for hit in ordered] == [asked, newer]


def test_what_an_edge_replaced_comes_after_all_that_is_current() -> None:
    old, other, new = said("I work at Acme.", "Acme is a company.", "I changed jobs, to Globex.")
    hits = [Hit(old, 1.0, new.id), Hit(other, 0.5), Hit(new, 0.1)]

    ordered = order_current("Where do I work?", hits)

    assert [hit.statement for hit in ordered] == [new, other, old]


def test_a_statement_that_says_less_of_the_question_does_not_stand_above_one_that_says_more() -> (
    None
):
    other, exclaimed, right = said("Anna works at Globex.", "Go, Anna!", "Anna commutes by train.")
    hits = [Hit(other, 1.0), Hit(exclaimed, 0.9), Hit(right, 0.8)]

    ordered = order_current("How does Anna commute?", hits)

    assert [hit.statement for hit in ordered] == [right, other, exclaimed]


def test_a_chain_says_what_all_its_statements_say() -> None:
    first, other, now = said("Anna commutes by train.", "Anna works at Globex.", "Anna took a car.")
    hits = [Hit(other, 1.0), Hit(now, 0.6), Hit(first, 0.5, now.id)]

    ordered = order_current("How does Anna commute?", hits)

    assert [hit.statement for hit in ordered] == [now, other, first]


def test_an_older_statement_rises_above_no_newer_one_unless_it_ends_a_chain() -> None:
    older, newer = said("The standup of Apollo is at nine.", "Apollo has no standup on Fridays.")
    question = "When is the daily standup of Apollo at nine?"

    ordered = order_current(question, [Hit(newer, 1.0), Hit(older, 0.9)])

    assert [hit.statement for hit in ordered] == [newer, older]


def test_the_word_for_what_is_asked_for_need_not_be_in_the_answer() -> None:
    old, now, near = said(
        "The standup of Apollo is at 9:00.",
        "The standup of Apollo is at 10:45.",
        "Apollo failed two times.",
    )
    hits = [Hit(near, 1.0), Hit(now, 0.9), Hit(old, 0.5, now.id)]

    ordered = order_current("At what time is the standup of Apollo?", hits, complete=True)

    assert [hit.statement for hit in ordered] == [now, near, old]


def test_a_question_for_the_past_keeps_the_order() -> None:
    old, new = said("The deadline was May 3.", "The deadline was moved to May 9.")
    question = "What was the original deadline?"

    assert asks_for_past(question)
    ordered = order_current(question, [Hit(old, 1.0), Hit(new, 0.9)])
    assert [hit.statement for hit in ordered] == [old, new]


@STEADY
@given(st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_whole_history_comes_back_in_order_from_any_of_its_statements(
    count: int, chance: random.Random
) -> None:
    chain = [Statement(f"c{at}", f"value {at}", at) for at in range(count)]
    others = [Statement(f"o{at}", "something else", at) for at in range(3)]
    edges = [(new.id, old.id) for old, new in pairwise(chain)] + [("o1", "o0")]
    shuffled = chance.sample(chain + others, count + 3)

    assert history(chance.choice(chain).id, shuffled, edges) == tuple(chain)


def test_a_question_is_followed_over_several_facts_and_the_later_fact_wins() -> None:
    memory = Facts(
        said(
            "The author of Winter Garden is Lena Moor.",
            "Lena Moor is married to Piet Holm.",
            "Piet Holm is a citizen of Tavira.",
            "Lena Moor is married to Otto Brandt.",
            "Otto Brandt is a citizen of Norden.",
            "The capital of Norden is Stell.",
        )
    )

    chain = memory.follow("What is the capital of the country whose citizen Otto Brandt is?")
    assert chain is not None
    assert chain.answer == "Stell"
    assert [step.statement.id for step in chain.steps] == ["s4", "s5"]
    chain = memory.follow("Who is married to the author of Winter Garden?")
    assert chain is not None
    assert chain.answer == "Otto Brandt"
    assert [step.statement.id for step in chain.steps] == ["s0", "s3"]


def test_a_fact_is_not_followed_from_its_value_to_what_it_is_about() -> None:
    memory = Facts(said("The child of Ada Moor is Ben Moor.", "The child of Ben Moor is Cy Moor."))

    chain = memory.follow("Who is the child of Ben Moor?")

    assert chain is not None
    assert chain.answer == "Cy Moor"


def test_a_question_about_nothing_known_has_no_chain() -> None:
    assert Facts([]).follow("Who is the author of Winter Garden?") is None
    assert Facts(said("The capital of Norden is Stell.")).follow("Who wrote Dune?") is None


@STEADY
@given(STATEMENTS, TEXT)
def test_any_facts_and_any_question_can_be_followed(
    statements: list[Statement], question: str
) -> None:
    chain = Facts(statements).follow(question)

    if chain is not None:
        assert 0 <= chain.certainty <= 1
        assert chain.steps[-1].leads_to == chain.answer
        assert all(step.statement in statements for step in chain.steps)


def test_a_memory_answers_rather_about_who_asks_and_in_words_it_knows() -> None:
    known = answerable("What is my deadline?", 0.9)

    assert known > answerable("What is my deadline?", 0.5)
    assert known > answerable("What is the deadline of Dune?", 0.9)
