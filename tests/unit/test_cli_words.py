"""Finding by words."""

from cortex.runtime.cli.reading import has_words

ABOUT = "triage_ci_failure Triage a CI failure - name the failing test"


def test_every_word_must_stand_there_in_whatever_case() -> None:
    assert has_words(("TRIAGE", "test"), ABOUT)
    assert not has_words(("triage", "lasagne"), ABOUT)


def test_one_argument_may_hold_several_words() -> None:
    assert has_words(("ci failure",), ABOUT)


def test_many_mean_one_too() -> None:
    assert has_words(("CI", "failures"), ABOUT)
    assert not has_words(("classes",), "a class of its own kind, called classic"[:7])
