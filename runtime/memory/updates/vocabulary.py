"""Words that say how a sentence is built, whatever it is about, and phrases that say as much.

Closed lists of English: no attribute, relation or thing is among them.
"""

import re
from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BUILDING: Final = _set(
    """
    a about above after again all am an and any are around as at be because been before being below
    between both but by came can come could did do does doing done down during each few for further
    get gets getting got had has have having he her here hers him his how i if in into is it its
    itself just like made make makes me more most mine my myself of off on once only or other our
    ours out over own same she should so some such than that the their theirs them then there these
    they this those through to too under until up us very was we were what when where which while
    who whom whose why will with would you your yours s t m re ve ll d im ive ok okay so well oh hey
    please thanks yes yeah no not never also still already yet currently right really quite upon via
    per went go goes going take takes took put puts let lets seem seems say says said tell told know
    think mean means guess hi well since till within without across toward towards against among
    """
)
# Words that announce a change; with their ending, since "set" is no change and "moved" is one.
CHANGE: Final = _set(
    """
    now anymore nowadays instead longer actually correction corrected update updated updates changed
    change changes changing moved move moves moving switched switch switching migrated migrating
    replaced replace replaces replacing increased increase decreased reduced raised lowered bumped
    bump cut dropped extended shortened postponed rescheduled pushed shifted delayed brought revised
    revise amended renamed upgraded downgraded grew grown risen fell fallen improved rose promoted
    relocated transferred became become becomes ended quit left latest scratch wrong mistaken
    mistake swapped swap turned turns adjusted doubled halved today reassigned took settled
    reconsidered anew henceforth effective new newest recent recently current changed overhauled
    """
)
# What stands before a value that is no longer so, and what stands behind it.
FORMER: Final = _set(
    "from instead rather replacing replaces replaced formerly previously than over not longer left "
    "dropped quit"
)
FORMER_ENDS: Final = _set("to and but because for since so is now as i we he she they it in at on")
STOPPED: Final = _set("not longer left quit")
# What is done to a thing once: the next one of which it is said is another thing.
DONE: Final = _set(
    """
    added approved archived booked built cancelled canceled closed completed crashed created
    deleted delivered deployed disabled dropped enabled failed finished fixed hired installed
    invoiced launched merged opened ordered paid passed published rejected released removed
    resolved reviewed sent shipped signed sold solved submitted support supports supported
    tested wrote written
    """
)
FORMER_WORDS: Final = 6  # no value is longer
# Such a word says nothing else: as a content word, the "from" of an older statement is left over.
FUNCTION: Final = _BUILDING | FORMER
NOT_FORMER: Final = _set("now today this here then tomorrow next") | _set("only just even yet sure")
TAKEN_OVER: Final = _set("took take taken takes gone went going go")
# Phrases that say what one word says. Behind each, what stands in every text with such a phrase: to
# look for that costs a twentieth of looking for the phrases.
IDIOMS: Final = (
    (
        "these days|at the moment|at present|for the time being|from now on|by now|so far",
        "now",
        ("these days", "at the moment", "at present", "time being", "from now", "by now", "so far"),
    ),
    (
        r"as of (?:now|today|this \w+|the \w+)|from (?:today|this \w+)(?: on)?",
        "now",
        ("as of ", "from today", "from this "),
    ),
    (
        "after all|(?:it )?turns out(?: that)?|scratch that|ended up",
        "actually",
        ("after all", "turns out", "scratch that", "ended up"),
    ),
    (
        "in place of|in lieu of|as opposed to",
        "instead of",
        ("in place of", "in lieu of", "as opposed to"),
    ),
    (
        r"(?:do|does|did|is|are|am|can|will|have|has)(?: not|n['\u2019]t)(?=.*\bany ?more\b)",
        "no longer",
        ("anymore", "any more"),
    ),
    (
        "gave up|give up|given up|gone off|stopped using|moved away from",
        "dropped",
        ("gave up", "give up", "given up", "gone off", "stopped using", "moved away from"),
    ),
)
ANY_IDIOM: Final = re.compile(
    r"\b(?:" + "|".join(f"({phrase})" for phrase, *_ in IDIOMS) + r")\b", re.IGNORECASE
)
OF_IDIOMS: Final = tuple(part for *_, parts in IDIOMS for part in parts)
OWNING: Final = _set("of for about")  # before what a statement is about
DEFINITE: Final = _set("the our my his her their its your")
ARTICLES: Final = DEFINITE | _set("a an new")
LATE: Final = _set("now anymore nowadays instead longer correction actually latest scratch")
NEGATION: Final = _set("no not never don't doesn't didn't isn't won't can't cannot stopped quit")
ADDED: Final = _set("also too another additionally additional second third besides plus both extra")
UNSURE: Final = _set(
    "might maybe perhaps should unless if considering wondering whether could would hoping wish "
    "thinking"
)
ASKS: Final = _set(
    "what which when where who whom whose why how is are am was were do does did have has had can "
    "could will would shall should may might any so and but"
)
PAST: Final = _set("ago yesterday used originally initially formerly previously once last earlier")
FIRST: Final = _set("i my me mine we our us ours i'm i've we're we've i'd we'd im")
COPULA: Final = _set("is are am was were be been being 's 're 'm becomes became become remains")
STATE: Final = _set(
    """
    use uses using live lives living work works working prefer prefers want wants need needs like
    likes love loves have has own owns run runs stands costs takes contains includes holds supports
    belongs reports leads plays speaks studies drives studying stay stays set sits equals set
    """
)
IRREGULAR: Final = _set(
    """
    took left became grew rose fell went got gave made met sent spent bought wrote read ran swam ate
    drank came found held kept knew lost paid said sold saw spoke taught told thought won wore began
    broke brought built caught chose drew drove felt flew forgot had heard led let lent put quit set
    shrank slept stood swept threw understood cut hit beat
    """
)
MONTH: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
MONTH_IS: Final = "month "
DAY: Final = _set(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur fri "
    "tomorrow tonight noon midnight morning afternoon evening am pm"
)
_COUNTED: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
COUNT: Final = {word: str(number) for number, word in enumerate(_COUNTED.split())}
