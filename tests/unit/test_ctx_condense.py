"""Condensed prose: fewer tokens, and no number, name, negation, condition or modal less."""

import os
import random
import re

import pytest

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import check, condense, decode
from cortex.runtime.ctx.prose import (
    PARTICIPLES,
    SHORT_FORMS,
    facts,
    holds,
    missing,
    restored,
    shorten,
)

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
    assert "The harbour of Port Ellen opens at 06:30 on weekdays" in text
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
        ("The delay came as a result of the storm.", "came because of storm"),
        ("The crew do not have to wait.", "don't have to wait"),
        ("In case of fire, close the gate.", "in case of fire"),
        ("It is, however, closed.", "it's however closed"),
        ("Some of the other boats left.", "some of the other"),
        ("The crane lifts twice an hour.", "twice an hour"),
        ("She asked the pilot to ensure that is done.", "ensure that's done"),
        ("The keywords MUST NOT be read as IS NOT.", "MUST NOT be read as IS NOT"),
        ("‘I wouldn’t say a word about the boat,’ he said.", "say a word about the boat"),  # noqa: RUF001
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
        ("They decide which handles are inherited.", "which handles are"),
        ("It is a pump that uses oil and needs water.", "that uses oil and needs"),
        ("The lock that is used here and has a key is old.", "that's used here and has key"),
        ("The rope that has a knot and holds the boat is old.", "that has knot and holds"),
        ("He fled from the accused and the keeper.", "from the accused"),
        ("The others agreed.", "The others"),
        ("The first is closed.", "The first"),
        ("The set contains two rows.", "The set contains"),
        ("The crew went to the gate.", "to the gate"),
        ("It acts such as to open the gate.", "such as to open"),
        ("She ran up to the OTHER boat.", "the OTHER"),
        ("It is slow to make that call in a loop.", "that call in loop"),
        ("The rule that calls fail is old.", "that calls fail"),
        ("It shows that results are old.", "results are"),
        ("It is the keeper that checks the gate.", "that checks gate"),
        ("In the case of a tie, the first wins.", "in the case of"),
        ("It is shut (as described above, note that it waits).", "(as described above, note"),
        ("The lock (of the gate, as described above) holds.", "gate) holds"),
        ("Leave the gate as it is.", "as it is."),
        ("Nobody knows how old it is.", "how old it is."),
        ("Unfortunately, the simple gate is old.", "Unfortunately, simple"),
        ("If they open the gate and then shut it, the boat waits.", "and then shut it"),
        ("The boats in the future port wait.", "in future port"),
        ("In a way, it is old.", "In a way, "),
        ("The first bytes are old.", "the first bytes"),
        ("The most notable case is old.", "the most notable"),
        ("It works as well.", "works as well"),
        ("It says in which order they open.", "in which order"),
        ("It goes to the order.", "to the order"),
        ("The following can be used:", "the following can"),
        ("A pier means the place of the boats.", "means"),
        ("The boats that have been in the port are old.", "that have been in port"),
        ("Type `open` -r a b c to open it.", "-r a b c"),
        ("Boats wait, which is almost always the case.", "which is almost always the case"),
        ("They lie at the quay of boats, which are in a special port.", "which are in"),
        ("It has changed as a result, and the crew waits.", "as a result"),
        ("It counts the boats a row at a time.", "a row at a time"),
        ("It saw boats that a keeper who owns the port needs.", "that a keeper"),
        ("It checks first the current gate.", "first the current"),
        ("I thank all, in particular to the keeper.", "in particular"),
        ("It uses a rope, a pump, or a lock, and a small crane.", "lock, and"),
        ("It sheds the old and has a space for the new, small boats wait.", "the old and"),
        ("It sheds the rope and has a space for the new, small boats wait.", "for the new, "),
        ("It opens, even though the pier would also be right.", "would also be"),
        ("That is you opened the gate.", "that is you"),
        ("The known boats are described below.", "are described below"),
        ("Open the gate described below.", "gate described below"),
        ("Open it as the keeper is, which is as described above.", "as described above"),
        ("Use the gate which is described below.", "described below"),
        ("It is the same as described above.", "same as described above"),
        ("Except as noted below, all gates open.", "Except as noted below"),
        ("It opens, but now that they are old, they wait.", "now that they"),
        ("It opens such that we wait.", "such that we"),
        ("In general, boats wait.", "In general"),
        ("At the same time, the boat opens the gate.", "At same time"),
        ("It will almost certainly open.", "almost certainly"),
        ("It has essentially all gates.", "essentially all"),
        ("It opens basically any gate.", "basically any"),
        ("It must be clearly marked.", "clearly marked"),
        ("It is very likely open.", "very likely"),
        ("A rope would do just as well.", "just as well"),
        ("It acts in a similar way as a gate.", "in similar way as"),
        ("The results are in the form of:", "in form of"),
        ("They pulled in an attempt to open it.", "in attempt to"),
        ("The rope along with the pump is old.", "along with"),
        ("There are notes at the time of writing.", "at time of writing"),
        ("The pages deal with gates.", "deal with"),
        ("A pier is usually also made of stone.", "usually also"),
        ("After the storm a boat for the crew will come.", "storm a boat"),
        ("Rather than using the old rope the crew will wait.", "rope the crew"),
        ("If all went well the boats can leave.", "well the boats"),
        ("It begins with Bob the harbour keeper, who waits.", "Bob the harbour"),
        ("It is kept in `gate` the whole day.", "`gate` the whole"),
        ("Call us, by day or at night, if the gate is open.", "night, if"),
        ("It is old, so a change to a new one was needed.", "so a change"),
        ("It checks the gate, if it is open it waits.", "gate, if"),
        ("It opens only through the gate, and boats are always shut.", "gate, and"),
        ("The rules keep it small, which is good for the crew, and prevent a storm.", "crew, and"),
        ("If you need that you will find it.", "need that"),
        ("It is the tide at the moment you see it.", "at the moment you"),
        ("The `gate`_, which has the `old pier`_, waits.", "`gate`_, "),
        ("Let us know what you think.", "let us know"),
        ("It mirrors the is-a relation of the boats.", "is-a relation"),
        ("First, to avoid a storm, we wait.", "first, to avoid"),
        ("The crew will see that new gate and open it.", "see that new gate"),
        ("A pump that takes no oil and just waits is old.", "that takes no oil and"),
        ("The pier, though it does not have a gate, is old.", "pier, though"),
        ("When using a rope the API is set to it.", "rope the API"),
        ("It offers ferries, as well as old cranes.", ", as well as"),
        ("We call the pier the right place.", "pier the right"),
        ("It shows how likely it is that the gate is open.", "it is that"),
        ("While a rope is kept here, it is better to wait.", "here, it"),
        ("If you have only a pump instead, then boats wait.", "instead, boats"),
        ("For more questions, a post to the keeper is good.", "a post to"),
        ("Finally here it is, and we wait.", "here it is"),
        ("There is a page on the old pier, as well as a map of it.", ", as well as"),
        ("The higher the tide, the faster the boats will be.", "the higher the tide, the faster"),
        ("It works with any rope it has to: an old one.", "it has to:"),
        ("Down the road, it will be old in the end.", "down the road"),
        ("Down the road, it will be old in the end.", "in the end"),
        ("Now that we know the gate, we wait.", "now that we"),
        ("At the moment, ropes fail.", "at the moment"),
        (
            "If it holds, it shows the part of the rope, and the other gate of it is shut.",
            "rope, and",
        ),
        ("Each lock demotes the old ropes, and the crew of a boat rests.", "ropes, and"),
        ("It is required that the old gate of it opens.", "required that"),
        ("A storm basically doubles the fee.", "basically doubles"),
        ("The rules seem to be missing the point.", "seem to be"),
        ("Typically a running pump of the pier is old.", "typically a running"),
        ("It counts boats at that time and then shuts.", "at that time"),
        ("It opens if this a known gate.", "this a known"),
        ("It sits in the wrong place, so short ropes fail.", "place, so short"),
        ("In addition to the old ropes a new boat has a pump.", "ropes a new"),
        ("It holds over a gigabyte.", "over a gigabyte"),
        ("Note however that the gate is old.", "however"),
        ("It has a *set using* and a *stored as* type.", "*set using*"),
        ("When the boat leaves, the gate is shut, then locked.", "shut, then"),
        ("One way is not to use the gate.", "is not to use"),
        ("The crew will now have to wait.", "now have to wait"),
        ("For convenience a copy of the map (which is old) is kept.", "for convenience a copy"),
        ("It may fail during a storm in which case boats wait.", "in which case"),
        ("It shows an error, which means that the gate failed.", "which means"),
        ("It is the pier that is part of the harbour.", "pier that's part"),
        ("We use the lock that is part of the pier.", "lock that's part"),
        ("Some of the boats' ropes are old.", "some of boats'"),
        ("It takes a tenth of a second.", "a tenth"),
        ("First, an old boat is shown.", "first an old"),
        ("It opens as a matter of course.", "matter of course"),
        ("It predicts storms in the near future.", "near future"),
        ("They provide support for old piers, and for boats.", "support for"),
        ("They range from somewhat to very old.", "somewhat to very old"),
        ("The rope, which is used by the crew and holds the boat, is old.", "which is used"),
        ("It gives one an idea of the pier.", "one an idea"),
        ("And finally the delete view of it is old.", "finally the delete"),
        ("It is a name that it is reached via that matches the pier.", "via that matches"),
        ("They are a set of boats which are in turn old.", "which are in turn"),
        ("If it was a boat, however, a problem will come.", "boat, however, "),
        ("The way the crew handles that is to shut it.", "handles that is to"),
        ("It fails when handling boats that have been stopped.", "that have been stopped"),
        ("If anybody has a better name please say so.", "name please say"),
        ("It is old and the correct one to open is new.", "the correct one"),
        ("It is old and the change of it by the crew is new.", "and change of"),
        ("It is old and the test in the harbour is new.", "and the test"),
        ("We check that if the gate is open, the boat waits.", "check that if"),
        ("We know that when it opens, boats wait.", "know that when"),
        ("To do so, open the gate.", "to do so, open"),
        ("They rely on the fact that it opens.", "on fact that"),
        ("Piers and gates of the harbour, and its old ropes, came.", "harbour, and"),
        ("It opens the gate and the lock of a boat, and the crew waits.", "boat, and"),
        ("They were broken so as to be of no use.", "so as to"),
    ],
)
def test_readings_that_rules_must_not_change(sentence: str, kept: str) -> None:
    assert kept.lower() in shorten(sentence).lower()


@pytest.mark.parametrize(
    ("sentence", "short"),
    [
        ("Note that the gate is open.", "The gate is open."),
        ("It does not open, but the crew waits.", "It doesn't open, but crew waits."),
        ("It does not open; but the crew waits.", "It doesn't open; but crew waits."),
        ("If it is not shut, the crew waits.", "If it isn't shut, crew waits."),
        (
            "It waits (but not at the pier) for the crew.",
            "It waits (but not at the pier) for crew.",
        ),
        ("This means that the gate opens.", "So gate opens."),
        ("The crew boat must wait.", "Crew boat must wait."),
        ("The caller waits.", "Caller waits."),
        ("It is sent to the caller.", "It's sent to caller."),
        ("It has the following parts:", "It has following parts:"),
        ("It uses the existing pier.", "It uses existing pier."),
        ("The gate is closed as well.", "Gate is closed."),
        ("It is a place in which the boats wait.", "It's place where boats wait."),
        ("In this case we wait.", "In this case we wait."),
        ("In those cases, we wait.", "In those cases we wait."),
        ("It is a bug that has been fixed.", "It's bug that has been fixed."),
        ("It has been open.", "It's been open."),
        ("They open the gate and then shut it.", "They open gate then shut it."),
        ("In the future, we may open it.", "Later we may open it."),
        ("It is old, which is why we shut it.", "It's old so we shut it."),
        ("Some of the boats wait.", "Some boats wait."),
        ("It is similar to a lock.", "It's like lock."),
        ("In order to open the gate, pull.", "To open gate, pull."),
        ("The value that is used by the gate is small.", "The value used by gate is small."),
        (
            "It does not open, because the gate is very old.",
            "It doesn't open, because the gate is very old.",
        ),
        (
            "It does not open: the pier, the lock; the gate.",
            "It doesn't open: the pier, the lock; the gate.",
        ),
        ("The gate, as described above, is closed.", "Gate is closed."),
        ("As described above, the gate is closed.", "The gate is closed."),
        ("It was sent to the keepers of the lock.", "It was sent to keepers of lock."),
        ("It is bound to the new pier.", "It's bound to new pier."),
        ("The keepers agreed on the owned boat.", "Keepers agreed on owned boat."),
        ("The lock must hold.", "Lock must hold."),
        ("It holds the string in the API.", "It holds string in API."),
        ("It takes a value such as a name.", "It takes value eg name."),
        ("All of these rules are as follows:", "All these rules are:"),
        ("A crew that has a boat leaves.", "A crew with boat leaves."),
        ("Call ``open()`` first.", "Call `open()` first."),
        ("We know that the gate holds.", "We know gate holds."),
        ("A gate that uses a pump is, for example, slow.", "Gate using pump is eg slow."),
        ("However, the pier, which is an old one, stays.", "But pier, old one, stays."),
        ("If the tide is low, then the gate opens.", "If tide is low, gate opens."),
        ("See :pep:`484` and :func:`run`.", "See PEP 484 and `run`."),
        ("[https://example.org/a](https://example.org/a) is it.", "https://example.org/a is it."),
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
    "that is paid at the desk is 12.50 euros in 2024. Boats of more than 18 metres "
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

    assert result.split("\n\n") == [DRAFT, "The crane of 1902 was sold to Ann Black."]


@pytest.mark.parametrize(
    ("source", "draft"),
    [
        (
            "The pier is 5 m long. The boat is 9 m long.",
            "The pier is 9 m long. The boat is 5 m long.",
        ),
        ("The pier is 5 m long. The boat is 9 m long.", "It is 9 m long. The pier is 5 m long."),
        ("It must not open and must not wait.", "It must open and must not wait."),
        ("Boats may stop here.", "Boats must stop here."),
        ("The box weighs 5 kg.", "Box weighs 5 g."),
        ("The fee is 12.50 euros per day.", "Fee is 12.50 euros per month."),
        ("Mary Stone opened the gate.", "Mary opened the gate."),
        (
            "The pier may close. The gate opens if Ann agrees.",
            "The gate may close. The gate opens if Ann agrees.",
        ),
        ("They met on 3/4/2019.", "They met on 4/3/2019."),
        ("They met on 3 April and 4 May.", "They met on 4 April and 3 May."),
        ('He said "the sea waits" twice.', 'He said "the sea sleeps" twice.'),
        ("The gate opens if the tide is high.", "The gate opens."),
        ("The pier has 5 cranes and the yard has 9.", "The yard has 5 cranes and the pier has 9."),
        (
            "The captain paid Ann and the pilot paid Bob.",
            "The pilot paid Ann and captain paid Bob.",
        ),
        ("It takes up to 5 boats.", "It takes 5 boats."),
        ("The gate opens at noon.", "The gate does not open at noon."),
        ("The gate opens at 5.", ""),
    ],
)
def test_a_draft_that_says_something_else_is_refused(source: str, draft: str) -> None:
    assert restored(source, draft) == source


def test_a_fact_that_moved_to_another_sentence_is_lost() -> None:
    source = "The north pier is 5 metres long. The south pier must not be used before 06:30."
    moved = "North pier is 5 metres long before 06:30. South pier must not be used."

    report = check(source, "text", f"#ctx condensed text\n{moved}")

    assert report.lost == ["condition before", "number 06:30"]
    assert check(source, "text", f"#ctx condensed text\n{source}").holds


def test_what_a_draft_adds_goes() -> None:
    source = "The gate opens at 5. Nobody has seen the key."

    assert restored(source, f"{source} The tower closes at 9.") == source


def test_code_in_a_draft_stands_as_it_was_or_the_paragraph_does() -> None:
    source = "The gate opens at 5.\n\n    wait = 5"

    assert (
        restored(source, "Gate opens at 5.\n\n    wait = 6") == "Gate opens at 5.\n\n    wait = 5"
    )


def test_the_rule_that_drops_something_is_undone_and_the_others_hold() -> None:
    sentence = "In order to see Rule Nine, the crew will open the very old gate by 'the end'."

    undone = shorten(sentence, stands=lambda made: "very" in made)

    assert undone == "To see Rule Nine, crew will open very old gate by 'the end'."


@pytest.mark.parametrize(("encoding", "most"), [("o200k_base", -1), ("cl100k_base", 0)])
def test_every_short_form_takes_fewer_tokens(encoding: str, most: int) -> None:
    count = TokenCounter(encoding).count  # to which contractions are two words, as what they say

    for phrase, short in SHORT_FORMS.items():
        assert count(f" {short}") <= count(f" {phrase}") + most, phrase
    for form, participle in PARTICIPLES.items():
        assert count(f" {participle}") < count(f" that {form}"), form


def test_lines_that_stood_further_in_do_not_join_the_paragraph_above() -> None:
    text = (
        "This ` here is a backtick, and the old name of the mark is the grave accent.\n"
        "  If you use the same command a second time you will jump back again to the top. That is\n"
        '  because the "`" command is a jump itself, and the position before it is remembered.\n'
    )

    assert check(text, "text", condense(text, counter=COUNTER).text).holds


def test_items_are_one_blank_a_level_deep_however_they_were_indented() -> None:
    wide = "* The first pier\n\n    * The second pier of it\n\n        * The third one of it\n"
    text = f"{wide}\nIt is here due to the fact that it is very old.\n\n{wide}"

    made = str(decode(condense(text, "markdown", counter=COUNTER).text).data)

    items = ["* The first pier", " * The second pier of it", "  * The third one of it"]
    assert [line for line in made.split("\n") if line] == [
        *items,
        "It's here because it's old.",
        *items,
    ]


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("It is safe with respect to threads.", "with respect to threads"),
        ("At this point the parser reads a name.", "At this point"),
        ("It takes quite a bit more time.", "quite a bit more"),
        ("It acts on behalf of its user.", "on behalf of"),
        ("The order in which they run counts.", "order in which they run"),
        ("It is not so that basically every old gate is open.", "that basically every old gate"),
        ("He never saw the gate, and the pier was also shut.", "the gate, and the pier was also"),
        ("A gate means the part that really opens.", "A gate means the part that really opens."),
        ("This is licensed under the terms of the licence.", "under the terms of the licence."),
        ("The set contains two rows.", "The set contains"),
        ("It is bound to the set.", "to the set"),
        ("It saw the few that came.", "the few that came"),
        ("Boats, which are old, stay here.", "Boats, old, stay"),
        ("After the crew left, the harbour was shut.", "left, harbour"),
    ],
)
def test_what_would_say_something_else_stays(sentence: str, kept: str) -> None:
    others = ["The boats of this harbour are very old, and it is small."] * 9

    package = condense("\n\n".join([sentence, *others]), "markdown", counter=COUNTER)

    assert kept in str(decode(package.text).data)


def test_prose_has_a_legend_only_where_it_is_asked_for() -> None:
    phrase = "the keeper of the northern lighthouse of Port Ellen"
    text = "\n\n".join(f"It is {n} o'clock and {phrase} is at home." for n in range(1, 13))

    plain = condense(text, "markdown", counter=COUNTER)
    named = condense(text, "markdown", counter=COUNTER, named=True)

    assert "names:" not in plain.text
    assert "names:" in named.text
    assert named.tokens < plain.tokens


def test_of_very_many_clauses_the_denied_ones_stay_and_the_others_are_shortened() -> None:
    clauses = "It does not open the gate; the crew waits at the pier, but not at the gate; " * 3_000

    short = shorten(clauses)

    assert short.count("the gate") == 6_000  # denied
    assert short.count("waits at pier") == 3_000  # not denied
