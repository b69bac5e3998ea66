"""Write docs/handlers-and-gates.md: every shipped action, gate and model, from what each announces.

`python dev/handler_docs.py` writes it; `--check` only says whether it is in step.
"""

import inspect
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cortex.runtime.kernel import Component, Serves, built_in, load
from cortex.runtime.models import ModelDescription
from event_docs import comments_of, fields_table

PATH = Path(__file__).parents[1] / "docs" / "handlers-and-gates.md"
HEAD = """\
# Actions, gates, models and tools that come with Cortex

<!-- Made by `python dev/handler_docs.py` from what the components announce; a test keeps it in step. -->

This page lists the actions, gates, models and tools that come with Cortex, with their parameters and results. A **component**
is a part of Cortex that handles events; each entry names the component that serves it. A process uses them like this:

```yaml
process: ask_the_notes
version: 1
description: Answer a question about notes.md
inputs:
  question: { type: string }
steps:
  - id: answer
    description: Answer the question
    action: answer_question                   # the action; `with` sets its parameters
    with: { question: "${inputs.question}" }
    gates: [{ file_exists: { path: notes.md } }]
    tools: [read_file]                        # tools that the model may call
```

The compiler checks constant values, and the types of values from inputs and earlier steps. If a value is wrong at run time,
Cortex refuses it and names the field: the step fails (`step.failed` with the kind `refused`, without a retry), or the gate
fails. `null` means that the parameter is not set.

Relative paths start at the *workspace*, the folder in which the execution works. Actions and gates read only regular files,
because a read from a pipe or a device might never end.

Each action and tool declares its **effect** on the world. After a kill, Cortex runs an action with the effect *none* or *read*
again, and an *idempotent* one again with the same key. It never repeats *once* without asking. The effect of `shell` is *once*:
if the runtime is killed, the program keeps running, and the next runtime finds its outcome. If nobody recorded the outcome, the
execution [pauses and asks a person](executions.md#effects).

If an action *asks a model*, Cortex compiles the prompt of the step, asks a model, and then runs the action with the answer
and the parameters.

If a later step carries this one (`carry:`), its prompt shows the field `context` of the result, or the whole result as JSON if
there is no such field. To write your own action or gate, see [components](components.md); for tools, see [tools](tools.md).
"""


def text() -> str:
    """The whole page."""
    parts = [HEAD]
    structs: dict[str, type[msgspec.Struct]] = {}
    for kind, title in (
        ("action", "Actions"),
        ("gate", "Gates"),
        ("model", "Models"),
        ("tool", "Tools"),
    ):
        parts.append(f"## {title}\n")
        for component, serves in sorted(_served(kind), key=lambda pair: pair[1].name):
            parts += _section(component, serves)
            for struct in (serves.parameters, serves.result):
                structs |= {found.__name__: found for found in _nested(struct)}
    parts.append("## Records inside parameters and results\n")
    for name, struct in sorted(structs.items()):
        parts += [f"### {name}\n", f"{inspect.cleandoc(struct.__doc__ or '')}\n"]
        parts.append(fields_table(struct))
    return "\n".join(parts).rstrip() + "\n"


def _served(kind: str) -> Iterator[tuple[type[Component], Serves]]:
    for entry in built_in():
        component = load(entry.component)
        for serves in component.serves:
            if serves.kind == kind:
                yield component, serves


def _section(component: type[Component], serves: Serves) -> Iterator[str]:
    yield f"### `{serves.name}`\n"
    yield f"{_about(component, serves)}\n"
    yield " · ".join(_traits(component, serves)) + "\n"
    if serves.kind == "model":
        notes = comments_of(ModelDescription)
        lines = [f"| `{k}` | `{v}` | {notes.get(k, '')} |" for k, v in serves.traits.items()]
        yield "\n".join(["| field | value | |", "|---|---|---|", *lines]) + "\n"
        return
    if serves.parameters is None:
        yield "It takes no parameters.\n"
    else:
        yield "Parameters:\n"
        yield fields_table(serves.parameters)
    if serves.result is not None:
        yield "Result:\n"
        yield fields_table(serves.result)


def _about(component: type[Component], serves: Serves) -> str:
    """What one of them does: the component's docstring describes all that it serves."""
    if serves.kind == "tool":
        return f"{str(serves.traits['description']).rstrip('.')}."
    together = sum(each.kind == serves.kind for each in component.serves) > 1
    return inspect.cleandoc((serves.parameters if together else component).__doc__ or "")


def _traits(component: type[Component], serves: Serves) -> Iterator[str]:
    yield f"component `{component.component_name()}`"
    if serves.kind in ("action", "tool"):
        yield f"effect *{serves.declares() or 'once'}*"
        if serves.traits.get("asks_model"):
            yield "asks a model"
    if serves.kind == "gate":
        yield "read-only" if serves.traits.get("read_only") else "may change the world"
    if component.cpu:
        yield "in a separate process"
    elif component.workers > 1:
        yield f"{component.workers} workers"


def _nested(struct: type[msgspec.Struct] | None) -> Iterator[type[msgspec.Struct]]:
    """The records that the fields of *struct* hold, and those in them."""
    if struct is not None:
        for field in msgspec.structs.fields(struct):
            yield from _inside(field.type)


def _inside(annotation: object) -> Iterator[type[msgspec.Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield annotation
        yield from _nested(annotation)
    for argument in typing.get_args(annotation):
        if typing.get_origin(annotation) is not typing.Literal:
            yield from _inside(argument)


def main() -> int:
    """Write the page, or compare it."""
    wanted = text()
    if "--check" not in sys.argv:
        PATH.write_text(wanted)
        return 0
    if PATH.is_file() and PATH.read_text() == wanted:
        return 0
    print("docs/handlers-and-gates.md is out of step: run python dev/handler_docs.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
