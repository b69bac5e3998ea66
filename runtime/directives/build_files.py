"""The commands and images in files that build and deploy: make, CI in YAML, and containers."""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from .commands import command_names

_RECIPE: Final = re.compile(r"^(?:\t|[^\s#:=][^#:=\n]*::?[^=;\n]*;)[ \t]*[@+-]*(.*)$", re.MULTILINE)
_INSTRUCTION: Final = re.compile(
    r"^[ \t]*(FROM|RUN|CMD|ENTRYPOINT)[ \t]+(?:--\S+[ \t]+)*((?:[^\n]*\\\n)*[^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_SHELL: Final = frozenset(
    {"run", "script", "before_script", "after_script", "command", "commands", "cmd", "entrypoint"}
)
_IMAGES: Final = frozenset({"image", "uses", "services", "container"})
_LINES: Final = re.compile(r"^[ \t]*(?:-[ \t]+)?(\w+):[ \t]+(.+)$", re.MULTILINE)
_DEEPEST: Final = 100  # objects and lists in each other
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def makefile_names(text: str) -> Iterator[str]:
    """The commands in the recipes of a makefile, and what they install."""
    for found in _RECIPE.finditer(text.replace("\\\n", " ")):
        yield from (name for name, _ in command_names(found[1]))


def container_names(text: str) -> Iterator[str]:
    """The commands and the base images in a Dockerfile."""
    for found in _INSTRUCTION.finditer(text):
        said = found[2].replace("\\\n", " ")
        if found[1].upper() == "FROM":
            yield from image_names(said.partition(" ")[0])
        elif said.startswith("["):
            words = re.findall(r'"((?:[^"\\]|\\.)*)"', said)
            yield from (name for name, _ in command_names(" ".join(words)))
        else:
            yield from (name for name, _ in command_names(said))


def yaml_names(text: str) -> Iterator[str]:
    """The commands that YAML has under `run`, `script` and the like, and its images and actions."""
    for key, value in _scalars(text):
        if key in _SHELL:
            yield from (name for name, _ in command_names(value))
        elif key in _IMAGES:
            yield from image_names(value)


def image_names(image: str) -> Iterator[str]:
    """The parts of an image's or an action's name, without registry, tag and digest."""
    parts = image.strip().partition("@")[0].removeprefix("docker://").split("/")
    if len(parts) > 1 and re.search(r"[.:]", parts[0]):
        del parts[0]  # where it is kept
    for part in parts:
        yield part.partition(":")[0]


def _scalars(text: str) -> Iterator[tuple[str, str]]:
    """Each scalar with the key that it stands under; aliases are not followed."""
    keys: list[str | None] = []  # of the open objects; None where a key comes next, "" in a list
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.ScalarEvent):
                yield from _scalar(keys, str(event.value))
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                if len(keys) > _DEEPEST:
                    return
                keys.append(None if isinstance(event, yaml.MappingStartEvent) else "")
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                keys.pop()
                _value_ended(keys)
            elif isinstance(event, yaml.AliasEvent):
                _value_ended(keys)
    except (yaml.YAMLError, ValueError):  # a template, or cut off: what its lines say
        for found in _LINES.finditer(text):
            yield found[1], found[2].strip("\"' ")


def _scalar(keys: list[str | None], value: str) -> Iterator[tuple[str, str]]:
    if keys and keys[-1] is None:
        keys[-1] = value
        return
    yield next((each for each in reversed(keys) if each), ""), value
    _value_ended(keys)


def _value_ended(keys: list[str | None]) -> None:
    if keys and keys[-1]:
        keys[-1] = None
