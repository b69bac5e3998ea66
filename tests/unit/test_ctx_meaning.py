"""What condensing must leave alone, and what the checker must see."""

from importlib import import_module
from typing import Any

import pytest

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import check, condense, decode, encode
from cortex.runtime.ctx.prose import holds, is_english, is_foreign, shorten

COUNTER = TokenCounter()
places_of = import_module("cortex.runtime.ctx.legend.cover").places_of  # behind the front door
RULE = "======  ======================="  # of a table
LONG = "The keeper of this gate must be called before anybody opens it in the night. "
PROSE = (
    "In order to open the gate, the crew will basically pull the very old rope, because the pump "
    "that is used by the harbour is not able to lift it. It is important to note that the crew "
    "waits in the harbour until the tide is low.\n"
)


def made(text: str) -> str:
    return str(decode(condense(text, "markdown", counter=COUNTER).text).data)


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("Choose option a if the gate is open.", "option a if"),
        ("Let a be the rate.", "Let a be"),
        ("Walk from point a to point b.", "point a to point b"),
        ("Press a to accept the fee.", "Press a to"),
        ("The value of a in the table is low.", "value of a in"),
        ("A is the name of the gate.", "A is"),
        ("The variable a holds the fee.", "variable a holds"),
        ("Here a and b are the ends.", "a and b"),
    ],
)
def test_a_that_is_a_name_stays(sentence: str, kept: str) -> None:
    assert kept in shorten(sentence).replace("Va", "va")


def test_a_before_a_noun_goes() -> None:
    assert shorten("He saw a gate in a by-road.") == "He saw gate in by-road."


@pytest.mark.parametrize(
    "quotation",
    [
        "«the gate is very old»",
        "„the gate is very old“",
        "‚the gate is very old‘",  # noqa: RUF001
        "»the very old«",
    ],
)
def test_quotations_of_other_lands_stand(quotation: str) -> None:
    assert quotation in shorten(f"The keeper wrote {quotation} on the door.")
    assert not holds(f"He wrote {quotation}.", f"He wrote {quotation.replace('very ', '')}.")


def test_a_quoted_block_stands() -> None:
    quoted = "> The keeper of the gate is a very old man.\nIt is the truth of the matter.\n"

    assert quoted in made(f"{PROSE}\n{quoted}\n{PROSE}")


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("It opens if depth < 5.", "It opens if depth > 5."),
        ("It opens if depth ≤ 5.", "It opens if depth ≥ 5."),
        ("It opens if depth <= 5.", "It opens if depth < 5."),
        ("All but three boats came.", "All three boats came."),
        ("It fell to −5 degrees.", "It fell to 5 degrees."),  # noqa: RUF001
        ("It weighs 2000 kg.", "It weighs 2000 lb."),
        ("It took 25000 boats.", "It took 25000 cars."),
        ("Up to five boats came.", "Five boats came."),
        ("It took over two hundred boats.", "It took two hundred boats."),
        ("Nearly all boats came.", "All boats came."),
        ("It takes ¾ hour.", "It takes ½ hour."),
        ("She has to call.", "She calls."),
        ("They have to call.", "They call."),
        ("It is a non-empty list.", "It is an empty list."),
        ("Berlin was defeated by Vienna.", "Berlin defeated Vienna."),
        ("It rose by 5 metres.", "It rose to 5 metres."),
    ],
)
def test_the_checker_sees_what_turned(source: str, result: str) -> None:
    assert not holds(source, result)
    assert holds(source, source)
    assert not check(source, "text", f"#ctx condensed text\n{result}").holds


def test_must_is_has_to() -> None:
    assert holds("She has to call.", "She must call.")


@pytest.mark.parametrize(
    "text",
    [
        "Le roi a tué le prince, puis il a quitté la ville avec la reine.",
        "Der Mann will in die Stadt, also geht er an die Straße und wartet dort.",
        "El rey va a la ciudad con la reina, y el perro va a casa.",
    ],
)
def test_what_is_not_english_stands(text: str) -> None:
    assert made(f"{PROSE}\n{text}\n\n{PROSE}").split("\n")[2] == text
    assert is_foreign(text)
    assert not is_english(text)
    assert made(text * 9) == text * 9
    assert is_english(PROSE)


def test_a_sentence_said_under_another_heading_stays() -> None:
    text = f"# One\n\n{LONG}{LONG}\n\n# Two\n\n{LONG}\n"

    assert made(text).count("must be called before anybody opens") == 2


@pytest.mark.parametrize(
    ("sentence", "short"),
    [
        (
            "The team will, as described above, ensure it holds.",
            "Team will ensure it holds.",
        ),
        (
            "He must, for example, sign the form, or, if he is away, call Ada.",
            "He must eg sign form, or, if he's away, call Ada.",
        ),
        ("Please call me, Ada, when the tide is low.", "Please call me, Ada, when tide is low."),
        ("It is, however, closed.", "It's however closed."),
        (
            "The boats came, and the pier, as they say, was full.",
            "Boats came, and pier, as they say, was full.",
        ),
    ],
)
def test_commas_of_a_pair_go_together(sentence: str, short: str) -> None:
    assert shorten(sentence) == short
    assert holds(sentence, short)


def test_tables_stand_as_they_were() -> None:
    table = "| pier | the berths |\n|---|:---:|\n| the   north | 30|\n"

    assert table in made(f"{PROSE}\n{table}\n{PROSE}")


class Searched(str):
    """Text that counts how often it is searched."""

    searches = 0

    def find(self, *given: Any) -> int:
        self.searches += 1
        return super().find(*given)


@pytest.mark.parametrize("repeated", ["a", "ab1"])
def test_places_in_a_long_word_are_found_in_a_few_searches(repeated: str) -> None:
    word = repeated * 100_000
    text = Searched(f"{word} {repeated * 50} {word}")

    assert places_of(repeated * 50, text) == [len(word) + 1]
    assert text.searches < 10


def test_a_long_value_of_one_character_comes_back() -> None:
    text = '"' + "a" * 300_000 + '"'

    assert decode(encode(text, "json", counter=COUNTER).text).data == "a" * 300_000


def test_a_name_of_two_tokens_is_no_less_a_phrase_for_being_two_words() -> None:
    text = "\n".join(f"{n} wharf: Leadership Council" for n in range(40, 90))

    assert encode(text, "text", counter=COUNTER).text.count("Leadership") == 1


def test_a_draft_that_is_refused_whole_is_not_called_drafted() -> None:
    source = "The north pier opens at 5 and closes at 9.\n" + PROSE * 3

    package = condense(source, counter=COUNTER, draft="Nothing was said.")

    assert package.mode in ("exact", "verbatim")
    assert decode(package.text).text == source


@pytest.mark.parametrize(
    "table",
    [
        "Name | What it is of the gate\n--- | ---\n`a` | the key of the gate\n`b` | the name of it",
        f"{RULE}\nName    What it is of the gate\n{RULE}\na       the key of the old gate\n{RULE}",
    ],
)
def test_a_table_stands_without_a_frame_too(table: str) -> None:
    assert table in made(f"{PROSE}\n{table}\n\n{PROSE}")


def test_code_is_the_same_in_one_backtick_or_two() -> None:
    assert holds("Call ``open()`` first.", "Call `open()` first.")
    assert not holds("Call ``open()`` first.", "Call `close()` first.")
    assert not holds("Call ``open()`` first.", "Call open first.")
