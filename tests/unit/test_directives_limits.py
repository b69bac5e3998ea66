"""Limits of a directive: no text, however hostile, costs more than its length is worth."""

import unicodedata
from itertools import groupby

import pytest

from cortex.runtime.directives import (
    DIALOGUE,
    INITIAL,
    PROFILES,
    STRICT,
    Clarify,
    Directive,
    DirectiveKind,
    Error,
    Profile,
    StateInvalidError,
    SyntaxFailure,
    export_state,
    import_state,
    submit,
)

ACUTE, GRAVE_BELOW = "\u0301", "\u0316"
MILLION = 1_000_000
MOST_WORK = 3 * MILLION  # characters sorted and read: some milliseconds
HOSTILE = {
    "marks": "a" + (ACUTE + GRAVE_BELOW) * (MILLION // 2),
    "double marks": "a" + "\u0f73" * MILLION,
    "many short runs": ("a" + ACUTE * 30) * (MILLION // 31),
    "long form": "\ufdfa" * MILLION,
    "surrogates": "\ud800" * MILLION,
    "wide blanks": "\u3000" * MILLION,
    "articles": "the\u00a0" * (MILLION // 4),
    "quotes": '"' + "\\\u00e9" * (MILLION // 2) + '"',
}
HEADS = ("use ", "set premise ", "prohibit ", "don't use ", "remove policy ", "")


class Work:
    """The real normalisation, and what it cost: each run of marks counts by its square."""

    def __init__(self) -> None:
        self.done = 0

    def normalize(self, form: str, text: str) -> str:
        apart = text if text.isascii() else unicodedata.normalize("NFKD", text)
        self.done += len(text)
        for is_mark, run in groupby(apart, lambda each: unicodedata.combining(each) != 0):
            length = sum(1 for _ in run)
            self.done += length * length if is_mark else length
        return unicodedata.normalize("NFKC" if form == "NFKC" else "NFC", text)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    counted = Work()
    for module in ("identity", "seed"):
        monkeypatch.setattr(f"cortex.runtime.directives.{module}.normalize", counted.normalize)
    return counted


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_a_million_hostile_characters_are_hardly_normalised(
    profile: Profile, name: str, work: Work
) -> None:
    for head in HEADS:
        work.done = 0

        profile.step(INITIAL, head + HOSTILE[name])

        assert work.done <= MOST_WORK


def test_too_long_an_operand_is_one_clear_error() -> None:
    for hostile in ("x" * 16_001, "a" + ACUTE * 31, "a" + "\u0f73" * 16, "\ufdfa" * 1_000):
        _, refused = STRICT.step(INITIAL, f"use {hostile}")
        _, asked = DIALOGUE.step(INITIAL, f"set premise {hostile}")

        assert isinstance(refused, Error)
        assert refused.failure is SyntaxFailure.OVER_LIMIT
        assert "16,000 characters" in refused.message
        assert isinstance(asked, Clarify)
        assert asked.failure is SyntaxFailure.OVER_LIMIT


def test_the_longest_operand_is_stored_and_can_be_removed_again() -> None:
    longest = '\\"' * 16_000

    state, _ = STRICT.step(INITIAL, f'use "{longest}"')
    after, decision = STRICT.step(state, f'remove policy "{longest}"')

    assert len(state.policies) == 1
    assert import_state(STRICT, export_state(STRICT, state)) == state
    assert decision.kind == "update"
    assert after == INITIAL


def test_a_directive_that_a_program_submits_has_the_same_limits() -> None:
    state, decision = submit(INITIAL, Directive(DirectiveKind.USE_ITEM, "x" * 16_001))

    assert isinstance(decision, Error)
    assert state is INITIAL


def test_a_state_beyond_the_limits_is_not_imported() -> None:
    for hostile in ("x" * 16_001, "a" + ACUTE * 31):
        with pytest.raises(StateInvalidError, match="too long"):
            import_state(STRICT, f'{{"policies":{{}},"premise":"{hostile}","version":2}}')


def test_the_words_of_every_script_are_within_the_limits() -> None:
    for text in ("Z̷͕̟a̸l̵g̶o", "हिन्दी", "ພາສາລາວ", "བོད་སྐད", "tiếng Việt", "😀👩‍👩‍👧"):
        _, decision = STRICT.step(INITIAL, f"use {text}")

        assert decision.kind == "update"


def test_every_character_that_hides_two_marks_is_counted_as_two() -> None:
    doubles = {
        chr(code)
        for code in range(0x80, 0x110000)
        if not 0xD800 <= code < 0xE000
        and len(apart := unicodedata.normalize("NFKD", chr(code))) > 1
        and all(unicodedata.combining(each) for each in apart)
    }

    assert doubles == set("\u0344\u0f73\u0f75\u0f81")
