"""The table of diagnostic codes: a code, once given, is never used for anything else."""

from collections.abc import Mapping

from .codes_link import LINK, VERSIONS
from .codes_process import INHERITANCE, PROCESS
from .diagnostics import DiagnosticRule

FILE: tuple[DiagnosticRule, ...] = (
    DiagnosticRule(
        "P001",
        "file too large",
        "A source may have at most 1 MiB. A process is a page of text; a larger file is probably "
        "something else.",
        "split the file, or move what is not a process out of it",
    ),
    DiagnosticRule(
        "P002",
        "not valid YAML",
        "The file does not parse from this place on. The compiler still reads documents after "
        "the next `---`.",
        "correct the YAML at this place",
    ),
    DiagnosticRule(
        "P003",
        "not text",
        "Sources are UTF-8 text without control characters.",
        "save the file as UTF-8 text",
    ),
    DiagnosticRule(
        "P004",
        "nested too deeply",
        "Nothing in the language nests deeper than 64 levels.",
        "flatten this value",
    ),
    DiagnosticRule(
        "P005",
        "too many values",
        "One file may contain 200,000 values and, with what they inherit, 50,000 steps.",
        "split the file",
    ),
    DiagnosticRule(
        "P006",
        "anchor or alias",
        "The language has no YAML anchors, aliases or merge keys: they hide where a value comes "
        "from, and a few lines of them can expand to gigabytes.",
        "write the value out, or share it by `extends:`",
    ),
    DiagnosticRule(
        "P007",
        "tag",
        "The language has no YAML tags: the place of a value determines its type.",
        "remove the tag",
    ),
    DiagnosticRule(
        "P008",
        "value that YAML readers disagree on",
        "Unquoted `yes`, `no`, `on`, `off`, dates, times, octal and hexadecimal numbers and"
        " numbers with underscores mean different things to different YAML readers.",
        "put it in quotes, or write `true`, `false` or a plain decimal number",
    ),
    DiagnosticRule(
        "P009",
        "duplicate key",
        "A map may contain a key only once; the compiler cannot know which of the two you meant.",
        "remove one of them",
    ),
    DiagnosticRule(
        "P010",
        "key that is not a name",
        "Keys are strings. Numbers, booleans, null, lists and maps are not.",
        "put the key in quotes, or correct it",
    ),
    DiagnosticRule(
        "P011",
        "neither a process nor an interface",
        "Each document is a map with exactly one of the keys `process:` and `interface:`.",
        "start the document with `process: name` or `interface: name`",
    ),
    DiagnosticRule(
        "P012",
        "empty file",
        "There is no document in the file.",
        "write one",
        "warning",
    ),
    DiagnosticRule(
        "P013",
        "tab in the indentation",
        "YAML uses spaces for indentation; a tab has no defined width.",
        "replace the tab by spaces",
    ),
    DiagnosticRule(
        "P014",
        "file cannot be read",
        "The name of the file exists, but Cortex could not open it, or it is not a plain file.",
        "check that it exists and may be read",
    ),
    DiagnosticRule(
        "P015",
        "a secret",
        "Cortex records sources, and records contain no secrets: a step would run with a mask in "
        "the place of the secret.",
        "put it into a variable, and name that in the step's `env`",
    ),
)
VALUES: tuple[DiagnosticRule, ...] = (
    DiagnosticRule(
        "P101",
        "unknown key",
        "The language does not have this key at this place. The compiler never ignores unknown "
        "keys, because a misspelt gate would be a missing gate.",
        "correct the key or remove it",
    ),
    DiagnosticRule(
        "P102",
        "missing key",
        "A required key is missing.",
        "add it",
    ),
    DiagnosticRule(
        "P103",
        "wrong type",
        "The key takes a value of another type.",
        "correct it",
    ),
    DiagnosticRule(
        "P104",
        "value not allowed",
        "The key takes only certain values.",
        "use one of them",
    ),
    DiagnosticRule(
        "P105",
        "not a name",
        "Names start with a letter or underscore and continue with letters, digits, `_` and `-`. "
        "Names of actions, gates and tools may also have `.`, `:` and `/`; topics have dots.",
        "rename it",
    ),
    DiagnosticRule(
        "P106",
        "number out of range",
        "The number is too small or too large.",
        "correct it",
    ),
    DiagnosticRule(
        "P107",
        "version is not a whole number",
        "Versions count 1, 2, 3, ... YAML would read `1.10` as the number 1.1.",
        "use a whole number from 1",
    ),
    DiagnosticRule(
        "P108",
        "not a duration",
        "A duration is a number of seconds, or a number with `ms`, `s`, `m` or `h`.",
        'write `90`, `"90s"` or `"5m"`',
    ),
    DiagnosticRule(
        "P109",
        "not a schedule",
        "A schedule has a cron line of five fields and the name of a time zone.",
        'write for example `cron: "0 7 * * 1-5"` and `timezone: Europe/Vienna`',
    ),
    DiagnosticRule(
        "P110",
        "vendor or model named",
        "A step says what it needs of a model, never which model: models change, the process "
        "stays. The runtime selects the model.",
        "state what is needed: `reasoning`, `code`, `speed`, `sensitivity`, `context_tokens`",
    ),
    DiagnosticRule(
        "P111",
        "keys that exclude each other",
        "You can give only one of these keys.",
        "keep one of them",
    ),
    DiagnosticRule(
        "P112",
        "empty list",
        "The list needs at least one item.",
        "add one or remove the key",
    ),
    DiagnosticRule(
        "P113",
        "empty text",
        "A search needs at least one word.",
        "write what is to be found or remove the key",
    ),
)

SECTIONS: tuple[tuple[str, tuple[DiagnosticRule, ...]], ...] = (
    ("P0: the file", FILE),
    ("P1: keys and values", VALUES),
    ("P2: one process", PROCESS),
    ("P3: inheritance and interfaces", INHERITANCE),
    ("P4: linking", LINK),
    ("P5: versions", VERSIONS),
)

RULES: Mapping[str, DiagnosticRule] = {rule.code: rule for _, rules in SECTIONS for rule in rules}
