"""Write down what users see: commands, exit codes, settings, diagnostics, events, frames, documents.

`python dev/surface.py` writes tests/fixtures/surface; `--check` only says whether it is in step.
Each line states one thing that somebody may rely on, so that a diff of these files is the list of
what a change does to users.
"""

import importlib
import inspect
import sys
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import cli_docs
import click
import msgspec
from event_docs import kind_of, written

import cortex
from cortex.bus import Query
from cortex.bus.events import VOCABULARY
from cortex.runtime.kernel import Config
from cortex.runtime.processes import RULES

# Behind front doors: only what describes the code looks at it there.
frames: Any = importlib.import_module("cortex.bus.wire.frames")
exits_: Any = importlib.import_module("cortex.runtime.cli.exits")
root: click.Group = importlib.import_module("cortex.runtime.cli.tree").root
FOLDER = Path(__file__).parents[1] / "tests" / "fixtures" / "surface"


def commands() -> Iterator[str]:
    """Each command with its arguments, and each of its options."""
    for path, command in _leaves(root, ()):
        name = " ".join(path)
        arguments = [p.make_metavar(click.Context(command)) for p in _arguments(command)]
        yield " ".join((name, *arguments))
        yield from (f"{name} {_option(option)}" for option in _options(command))


def exits() -> Iterator[str]:
    """Each exit code with its meaning."""
    yield from (f"{code}: {meaning}" for code, meaning in exits_.MEANINGS.items())


def settings() -> Iterator[str]:
    """Each key of config.toml with its type and default."""
    for key in Config.keys():  # noqa: SIM118  # it is no dict
        table = f"{key.header} " if key.header else ""
        yield f"{table}{key.name}: {key.type}{f' = {key.default}' if key.default else ''}"


def diagnostics() -> Iterator[str]:
    """Each code of the process compiler with its severity and title."""
    yield from (f"{rule.code} {rule.severity}: {rule.title}" for rule in RULES.values())


def events() -> Iterator[str]:
    """Each topic with its schema and routing, and each of its fields."""
    for cls in sorted(VOCABULARY, key=lambda each: each.topic_name()):
        topic = cls.topic_name()
        belongs = "" if issubclass(cls, Query) else f" of {'/'.join(cls.belongs)}"
        key = "" if issubclass(cls, Query) or not cls.routing else f", key {cls.routing}"
        yield f"{topic} {cls.schema}: {kind_of(cls)}{belongs}{key}"
        yield from (f"{topic} {line}" for line in fields(cls))


def wire() -> Iterator[str]:
    """The versions of the protocol, and each request and answer with its fields in order."""
    yield f"versions: {frames.VERSIONS}"
    for union in (frames.Asks, frames.Answers):
        for cls in typing.get_args(union):
            tag = cls.__struct_config__.tag
            yield f"{tag}: {', '.join(fields(cls))}"


def names() -> Iterator[str]:
    """Each name of `cortex` and `cortex.testing`, with what a function or a constructor takes."""
    for module in (cortex, cortex.testing):
        for name in sorted(getattr(module, "__all__", ()) or _shown(module)):
            yield f"{module.__name__}.{name}{_taken(getattr(module, name))}"


def documents() -> Iterator[str]:
    """What --json prints: the document of each command, and the fields of each document."""
    for command, (how, shape) in cli_docs.SHAPES.items():
        yield f"{command}: {f'{how} ' if how else ''}{shape.__name__}"
    for shape in sorted(cli_docs.DESCRIBED, key=_name):
        yield from (f"{shape.__name__} {line}" for line in fields(shape))


PARTS = (commands, exits, settings, diagnostics, events, wire, documents, names)


def fields(cls: type[msgspec.Struct]) -> Iterator[str]:
    """Each field of *cls* with its type, and its default where it has one."""
    for field in msgspec.structs.fields(cls):
        kind = written(field.type).replace("\\|", "|")
        made = field.default_factory
        value = field.default if made is msgspec.NODEFAULT else made()
        default = "" if field.required else f" = {msgspec.json.encode(value).decode()}"
        yield f"{field.encode_name}: {kind}{default}"


def texts() -> dict[str, str]:
    """Text of every file by name."""
    return {f"{part.__name__}.txt": _text(part()) for part in PARTS}


def _name(cls: type[Any]) -> str:
    return cls.__name__


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# Classes that are there to derive from, to be caught, or to be given.
PLAIN: tuple[Any, ...] = (
    *(cortex.AsyncComponent, cortex.Component, cortex.CortexError, cortex.Path),
    *(cortex.Ephemeral, cortex.Event, cortex.Query, cortex.Struct),
)


def _shown(module: object) -> list[str]:
    return [name for name in dir(module) if not name.startswith("_")]


def _taken(found: Any) -> str:
    """`(a, *, b=)`: the parameters, without types and defaults, which stand in the guide."""
    if not callable(found) or found in PLAIN:
        return ""
    words: list[str] = []
    for each in inspect.signature(found).parameters.values():
        if each.kind is each.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        words.append(each.name if each.default is each.empty else f"{each.name}=")
    return f"({', '.join(words)})"


def _leaves(
    group: click.Group, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _leaves(command, (*path, name))
        elif command is not None:
            yield (*path, name), command


def _arguments(command: click.Command) -> list[click.Argument]:
    return [each for each in command.params if isinstance(each, click.Argument)]


def _options(command: click.Command) -> list[click.Option]:
    return [each for each in command.params if isinstance(each, click.Option)]


def _option(option: click.Option) -> str:
    kind: Any = option.type
    choices = "|".join(map(str, getattr(kind, "choices", ()))) or kind.name
    takes = "" if option.is_flag else f" {choices}"
    said = [f"default {option.default}" if option.show_default else ""]
    said += ["repeated" if option.multiple else "", "required" if option.required else ""]
    marks = f" ({', '.join(filter(None, said))})" if any(said) else ""
    return f"{'/'.join((*option.opts, *option.secondary_opts))}{takes}{marks}"


def main() -> int:
    """Write the files, or compare them."""
    wanted = texts()
    there = {path.name: path.read_text() for path in FOLDER.glob("*.txt") if path.name in wanted}
    if "--check" not in sys.argv:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, text in wanted.items():
            (FOLDER / name).write_text(text)
        return 0
    stale = [name for name, text in wanted.items() if there.get(name) != text]
    for name in stale:
        print(f"tests/fixtures/surface/{name} is out of step with the code: run dev/surface.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
