"""Write docs/events.md: the vocabulary of the bus, made from the classes and their comments.

`python dev/event_docs.py` writes it; `--check` only says whether it is in step.
"""

import inspect
import io
import re
import sys
import tokenize
import types
import typing
from itertools import groupby
from pathlib import Path

import msgspec

from cortex.bus import Ephemeral, Event, Query, personal_fields
from cortex.bus.events import VOCABULARY

PATH = Path(__file__).parents[1] / "docs" / "events.md"
PAST = ("began", "ed", "given", "left", "lost", "unknown", "withdrawn", "undone", "redone", "forgotten")
_FIELD = re.compile(r"    (\w+): ")  # as it stands in its class
SERVING = ("execution", "trigger")  # streams of events that are about a subject, if any is
KINDS = ("request", "fact", "ephemeral", "query")
HEAD = """\
# Events: the vocabulary of the bus

<!-- Made by `python dev/event_docs.py` from bus/events/; a test keeps it in step. -->

An event is a frozen record. Its class has a **topic**, `family.verb`. Topics and field names are on disk: they are never
renamed, no field changes its type, and a field that is added later has a default.

* **Requests** are imperative and may be refused. **Facts** are in the past tense and final. Both stay in the log for ever.
* **Ephemeral** events are on the bus and never in the log: a client that does not listen at that moment misses them.
* **Queries** are not recorded in the log. One component answers at once; the answer names the position for which it is valid.

Each event belongs to one **stream**, such as `execution/k3f9q2m7`. Versions count within a stream, positions over the whole
log. Subscriptions match the topic, and the **key** if the class names one: `@on(GateEvaluate, where={"gate":
"tests_pass"})`. A plugin's own topics are `x.<plugin>.<verb>`; a hub does not decode their events.

The log adds position, version, time, correlation, causation and source to an event. They are beside the event in the record,
and a handler gets them as its `Delivery`: see [components.md](components.md).

If an execution is about a [subject](erasure.md), all its events are stored encrypted. Once the subject is erased,
placeholders are in the fields that are listed as personal.
"""


def text() -> str:
    """The whole page."""
    classes = sorted(VOCABULARY, key=lambda cls: cls.topic_name())
    parts = [HEAD, _table(classes)]
    for family, members in groupby(classes, key=_family):
        parts.append(f"## {family}\n")
        parts += [_section(cls) for cls in members]
    return "\n".join(parts).rstrip() + "\n"


def kind_of(cls: type[Event]) -> str:
    """Whether it asks, tells, passes by or is answered at once."""
    if issubclass(cls, Query):
        return "query"
    if issubclass(cls, Ephemeral):
        return "ephemeral"
    return "fact" if cls.topic_name().endswith(PAST) else "request"


def _family(cls: type[Event]) -> str:
    return cls.topic_name().partition(".")[0]


def _table(classes: list[type[Event]]) -> str:
    lines = ["| family | requests | facts | ephemeral | queries |", "|---|---|---|---|---|"]
    for family, members in groupby(classes, key=_family):
        by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for cls in members:
            verb = cls.topic_name().partition(".")[2]
            by_kind[kind_of(cls)].append(f"`{verb}`")
        cells = " | ".join(" ".join(by_kind[kind]) for kind in KINDS)
        lines.append(f"| [{family}](#{family}) | {cells} |")
    return "\n".join(lines) + "\n"


def _section(cls: type[Event]) -> str:
    lines = [f"### `{cls.topic_name()}`", "", inspect.cleandoc(cls.__doc__ or ""), ""]
    lines += [" · ".join(_facts(cls)), "", fields_table(cls)]
    if cls.belongs[0] in SERVING and not issubclass(cls, Query):
        personal = ", ".join(f"`{name}`" for name in personal_fields(cls))
        lines += [f"Personal: {personal}\n"] if personal else []
    for inner in _structs_in(cls):
        about = inspect.cleandoc(inner.__doc__ or "")
        lines += [f"`{inner.__name__}`: {about}", "", fields_table(inner)]
    return "\n".join(lines)


def _structs_in(cls: type[Event]) -> list[type[msgspec.Struct]]:
    """The structs that fields of *cls* hold."""
    fields = msgspec.structs.fields(cls)
    types_ = [each for f in fields for each in (f.type, *typing.get_args(f.type))]
    return [t for t in types_ if isinstance(t, type) and issubclass(t, msgspec.Struct)]


def fields_table(cls: type[msgspec.Struct]) -> str:
    """Every field of *cls* with its type, its default and what is said about it."""
    comments = comments_of(cls)
    lines = ["| field | type | default | |", "|---|---|---|---|"]
    for field in msgspec.structs.fields(cls):
        note = (comments.get(field.name) or _described(field.type)).replace("|", "\\|")
        lines.append(f"| `{field.name}` | `{written(field.type)}` | {_default(field)} | {note} |")
    return "\n".join(lines) + "\n"


def _facts(cls: type[Event]) -> list[str]:
    facts = [f"*{kind_of(cls)}*", f"`{cls.__name__}`"]
    if not issubclass(cls, Query):
        prefix, field = cls.belongs
        facts.append(f"stream `{prefix}/<{field}>`" if field else f"stream `{prefix}`")
        if cls.routing:
            facts.append(f"key `{cls.routing}`")
    if cls.schema > 1:
        facts.append(f"schema {cls.schema}")
    return facts


def comments_of(cls: type[msgspec.Struct]) -> dict[str, str]:
    """The comment after each field, or on the lines right above it, as its source has them."""
    above: list[str] = []
    found: dict[str, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(inspect.getsource(cls)).readline):
        field = _FIELD.match(token.line)
        said = token.string.removeprefix("#").strip() if token.type == tokenize.COMMENT else ""
        if token.line.lstrip().startswith("#"):
            above += [said] if said else []
        elif field and (said or above):
            found[field[1]] = said or " ".join(above)
            above.clear()
        elif not field:
            above.clear()
    return found


def written(annotation: object) -> str:
    """The type as a table shows it."""
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        bounds = filter(None, (_bounds(each) for each in arguments[1:]))
        return " ".join((written(arguments[0]), *bounds))
    if origin is typing.Literal:
        return " \\| ".join(f'"{each}"' for each in arguments)
    if arguments and isinstance(origin, type) and origin is not types.UnionType:
        inside = ", ".join("..." if each is ... else written(each) for each in arguments)
        return f"{origin.__name__}[{inside}]"
    if arguments:
        return " \\| ".join(written(each) for each in arguments)
    return "null" if annotation is type(None) else getattr(annotation, "__name__", str(annotation))


def _described(annotation: object) -> str:
    """What a schema says of the field, for fields that a model fills in."""
    extras = typing.get_args(annotation)[1:]
    return next((d for each in extras if (d := getattr(each, "description", None))), "")


def _bounds(meta: object) -> str:
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    return " ".join(
        f"{sign} {bound}"
        for name, sign in signs.items()
        if (bound := getattr(meta, name, None)) is not None
    )


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    made = field.default_factory
    value = field.default if made is msgspec.NODEFAULT else made()
    shown = msgspec.json.encode(value).decode()
    return f"`{shown}`"


def main() -> int:
    """Write the page, or compare it."""
    wanted = text()
    if "--check" not in sys.argv:
        PATH.write_text(wanted)
        return 0
    if PATH.is_file() and PATH.read_text() == wanted:
        return 0
    print("docs/events.md is out of step with bus/events: run python dev/event_docs.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
