"""Condensed prose: fewer tokens, and no number, name, negation, condition or modal less."""

import os
import random
import re

import pytest

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import check, condense, decode
from cortex.runtime.ctx.prose import facts, holds, missing, restored, shorten

COUNTER = TokenCounter()
MUTATIONS = int(os.environ.get("CORTEX_CTX_MUTATIONS", "500"))
TEXT = """\
# The harbour

It is important to note that the harbour of Port Ellen opens at 06:30 on weekdays, and that it does
not open on Sundays unless the harbour master, Mary Stone, agrees. As described above, the fee is
12.50 euros in 2024. A boat of more than 18 metres must be announced 48 hours in advance.

In order to announce a boat, the owner should call `harbour.announce(boat_id)`, which is documented
at https://example.org/docs/announce. "The sea does not wait", the master said. However, owners may
also write to desk@example.org if they cannot reach the desk.

* The **north pier** has 14 berths, because the old crane was removed in March 2019.
* The south pier is closed until repairs are finished; it will not open before 1 May.

```python
the_harbour = "the code is very exact"
```

| pier | the berths |
|------|------------|
| the north | 14 |

It is important to note that the harbour of Port Ellen opens at 06:30 on weekdays, and that it does
not open on Sundays unless the harbour master, Mary Stone, agrees.
"""


def test_prose_is_condensed_and_everything_else_stands_as_it_was() -> None:
    package = condense(TEXT, "markdown", counter=COUNTER)

    text = str(decode(package.text).data)
    assert package.mode == "condensed"
    assert package.tokens < 0.8 * package.source_tokens
    assert "harbour of Port Ellen opens at 06:30 on weekdays" in text
    assert text.count("06:30") == 1  # the repeated sentence
    assert "As described above" not in text
    assert 'the_harbour = "the code is very exact"' in text
    assert "# The harbour" in text
    assert '"The sea does not wait"' in text


def test_the_parts_say_what_is_condensed() -> None:
    package = condense(TEXT, "markdown", counter=COUNTER)

    exact = "".join(package.text[p.start : p.end] for p in package.parts if p.mode == "exact")
    assert "the_harbour =" in exact
    assert "Mary Stone" not in exact
    assert [p.end for p in package.parts[:-1]] == [p.start for p in package.parts[1:]]
    assert package.parts[-1].end == len(package.text)


def test_no_fact_of_a_sentence_is_missing() -> None:
    once = TEXT[: TEXT.rindex("It is important")]

    assert check(once, "markdown", condense(once, "markdown", counter=COUNTER).text).holds


@pytest.mark.parametrize("kind", ["text", "markdown"])
@pytest.mark.parametrize(
    "text",
    ["", "\n", "a", "α\n", "key: value\nother: 5\n", "    code of four\n", "x = 1; y = 2\n" * 5],  # noqa: RUF001
)
def test_what_is_no_prose_comes_back_as_it_was(text: str, kind: str) -> None:
    package = condense(text, kind, counter=COUNTER)  # type: ignore[arg-type]

    assert decode(package.text).data == text


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("There were five boats, two of which were known.", "two of which were known"),
        ("The delay came as a result of the storm.", "as result of"),
        ("The fee rose to 5 euros in 2020.", "to 5 euros in 2020"),
        ("The pier, which was built by Telford, is closed.", "is closed"),
        ("After that is done, the gate opens.", "After that's done, "),
        ("It is not fully implemented.", "isn't fully implemented"),
        ("It performs as well as possible.", "as well as possible"),
        ("Only a few boats came.", "a few boats"),
        ("The crane lifts three times a day.", "three times a day"),
        ("He read about Alexander the Great.", "Alexander the Great"),
        ("It lies north of the Isle of Skye.", "the Isle of Skye"),
        ("It waits as long as the gate is open.", "as long as"),
        ("Once a boat is in, it stays so once and for all.", "so once"),
    ],
)
def test_readings_that_rules_must_not_change(sentence: str, kept: str) -> None:
    assert kept.lower() in shorten(sentence).lower()


@pytest.mark.parametrize(
    ("sentence", "short"),
    [
        ("Note that the gate is open.", "gate is open."),
        ("In order to open the gate, pull.", "to open gate, pull."),
        ("The value that is used by the gate is small.", "value used by gate is small."),
        ("It does not open, because the gate is very old.", "It doesn't open because gate is old."),
        ("The gate, as described above, is closed.", "gate is closed."),
        ("We know that the gate holds.", "We know gate holds."),
        (
            'Call the `gate the` function in the "the end".',
            'Call `gate the` function in "the end".',
        ),
    ],
)
def test_rules_say_the_same_in_fewer_words(sentence: str, short: str) -> None:
    assert shorten(sentence) == short
    assert holds(sentence, short)


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("It must not stop.", "It must stop."),
        ("It must not stop and must wait.", "It must stop and must not wait."),
        ("It may stop.", "It will stop."),
        ("It stops if the gate opens.", "It stops, the gate opens."),
        ("It costs 12.50 euros.", "It costs 12.5 euros."),
        ("It takes 5 minutes.", "It takes 5 hours."),
        ("We met Mary Stone.", "We met Mary."),
        ("Call `run(x)` now.", "Call run now."),
        ('She said "no more" twice.', "She said no more twice."),
        ("It opened on 1 May 2019.", "It opened on May 2019."),
        ("Ann paid Bob.", "Bob paid Ann."),
        ("All boats came in three days.", "Boats came in three days."),
        ("See https://example.org/a.", "See https://example.org/b."),
        ("It can't open.", "It can open."),
        ("Set `a` in the max_size file.", "Set `a` in the file."),
    ],
)
def test_the_checker_sees_what_was_lost(source: str, result: str) -> None:
    assert not holds(source, result)
    assert holds(source, source)


def test_short_forms_say_the_same() -> None:
    assert holds("It does not run and cannot stop.", "It doesn't run and can't stop.")


def test_the_checker_names_what_is_missing() -> None:
    lost = missing("Mary Stone paid 5 euros, not 6.", "Mary paid 5 euros.")

    assert [(fact.sort, fact.text) for fact in lost] == [
        ("name", "Stone"),
        ("negation", "not"),
        ("number", "6"),
    ]


PARAGRAPH = (
    "It is important to note that the harbour of Port Ellen, as everybody on the island "
    "knows, opens at 06:30 and does not open on Sundays unless Mary Stone agrees. The fee "
    "that has to be paid at the desk is 12.50 euros in 2024. Boats of more than 18 metres "
    "must be announced 48 hours in advance. Owners who come from far away should call "
    "`announce(boat_id)` if the desk can not be reached."
)
DRAFT = (
    "Harbour of Port Ellen opens at 06:30 and does not open on Sundays unless Mary Stone "
    "agrees. Fee is 12.50 euros in 2024. Boats of more than 18 metres must be announced 48 "
    "hours in advance. Owners should call `announce(boat_id)` if desk can not be reached."
)


def mutated(draft: str, chance: random.Random) -> str:
    """*draft* as a careless model might have written it."""
    words = draft.split(" ")
    at = chance.randrange(len(words))
    how = chance.randrange(6)
    if how == 0:
        del words[at : at + chance.randint(1, 4)]
    elif how == 1:
        words[at] = re.sub(r"\d", lambda m: str((int(m.group()) + 3) % 10), words[at])
    elif how == 2:
        other = chance.randrange(len(words))
        words[at], words[other] = words[other], words[at]
    elif how == 3:
        words = [word for word in words if word not in ("not", "unless", "must", "if", "should")]
    elif how == 4:
        words[at] = words[at].swapcase()
    else:
        sentences = draft.split(". ")
        chance.shuffle(sentences)
        words = ". ".join(sentences[: chance.randint(0, 4)]).split(" ")
    return " ".join(words)


def test_whatever_a_model_writes_no_fact_is_lost() -> None:
    chance = random.Random(7)
    wanted = [facts(sentence) for sentence in re.split(r"(?<=\.) ", PARAGRAPH)]

    for _ in range(MUTATIONS):
        draft = mutated(mutated(DRAFT, chance), chance)
        result = restored(PARAGRAPH, draft)
        assert missing(PARAGRAPH, result) == [], draft
        for own in wanted:  # a sentence's facts stand together and in their order
            there = iter(facts(result))
            assert all(any(fact == other for other in there) for fact in own), draft


def test_a_draft_that_holds_everything_is_taken_as_it_is() -> None:
    package = condense(PARAGRAPH, counter=COUNTER, draft=DRAFT)

    assert package.mode == "drafted"
    assert decode(package.text).data == DRAFT


def test_what_a_draft_lost_comes_back_where_it_stood() -> None:
    source = f"{PARAGRAPH}\n\nThe crane of 1902 was sold to Ann Black."

    result = str(
        decode(condense(source, counter=COUNTER, draft=f"{DRAFT}\n\nThe crane was sold.").text).data
    )

    assert result.split("\n\n") == [
        DRAFT,
        "The crane was sold. The crane of 1902 was sold to Ann Black.",
    ]
