"""What breaches a prohibition: a tool, a command word, a changed path, an import or a dependency.

Prose is none: "we avoid docker" and "use docker" are sentences, and so is code inside a line of
prose. In a text, fenced blocks count by their language, and in a diff what it adds.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from .commands import Named, command_names
from .in_force import LaidDown
from .materials import Material, MaterialKind
from .naming import aliases, directive_about, meaning, plainest
from .sources import source_names

QUOTED: Final = 200  # characters of a sentence that is quoted
_LINE: Final = re.compile(r"\r\n?|\n")
_QUOTE: Final = re.compile(r"[ \t]*(?:>[ \t]?)+")
# In lists, a block may be indented by any number of blanks; in quotations, it is behind `>`.
_FENCE: Final = re.compile(r"[ \t]*(>[> \t]*)?(```+|~~~+)[ \t]*(?:\{?[ \t]*\.)?([\w+#.-]*)")
_PROMPT: Final = re.compile(
    r"^\s*(?:[$%]|\[?[\w.-]+@[\w.-]+(?:[: ][^\s$#%]*)?[$#%]|PS [^>\n]*>|PS>) (.*)$", re.MULTILINE
)
_PROSE: Final = (".md", ".rst", ".txt", ".adoc")
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "shell", "fish", "ksh", "powershell", "pwsh"})
_CONSOLES: Final = frozenset({"", "console", "terminal", "shell-session", "sh-session", "text"})
_DIFFS: Final = frozenset({"diff", "patch"})


class Breach(Struct, frozen=True, kw_only=True):
    """A prohibited item in a material."""

    directive: LaidDown
    kind: MaterialKind
    name: str  # as it stands there
    sentence: str  # the line that it stands in


def breaches(material: Material, prohibited: Iterable[LaidDown]) -> list[Breach]:
    """Each prohibition that *material* breaches, once, with the first line that does."""
    rules = {meaning(each.name): each for each in prohibited}
    found: dict[str, Breach] = {}
    for name, sentence in _names(material) if rules else ():
        rule = rules.get(meaning(name))
        if material.kind == "tool":
            rule = directive_about(name, rules.values())
        if rule is not None and rule.name not in found:
            found[rule.name] = Breach(
                directive=rule, kind=material.kind, name=name, sentence=sentence[:QUOTED]
            )
    return list(found.values())


def _names(material: Material) -> Iterator[Named]:
    match material.kind:
        case "tool":
            yield material.text, material.text
        case "command":
            yield from command_names(material.text)
        case "path":
            yield from _path_names(material.text)
        case "source" | "manifest":
            yield from source_names(material.path, material.text)
        case "text":
            yield from _text_names(material.text)


def _path_names(path: str) -> Iterator[Named]:
    """The parts of *path* that can name something; a file of prose about it is not it."""
    parts = [each for each in path.replace("\\", "/").split("/") if each not in ("", ".", "..")]
    if not parts:
        return
    name = parts[-1]
    for end in range(1, len(parts) + 1):
        yield "/".join(parts[:end]), path
        yield parts[end - 1], path
    lower = name.lower()
    if lower.endswith(_PROSE):
        return
    stem, dot, extension = lower.rpartition(".")
    if f".{extension}" in aliases() and stem:
        yield f".{extension}", path  # `main.tf`
    if dot and plainest(extension) in aliases() and extension.endswith("file"):
        yield extension, path  # `api.dockerfile`
    first = lower.partition(".")[0]
    if first.endswith("file") or first.startswith("docker-compose"):
        yield first, path  # `Dockerfile.dev`, `docker-compose.prod.yml`


def _text_names(text: str) -> Iterator[Named]:
    for language, content in _blocks(text):
        if language in _SHELLS:
            yield from command_names(content)
        elif language in _CONSOLES:
            yield from command_names("\n".join(_PROMPT.findall(content)))
        elif language in _DIFFS:
            yield from _diff_names(content)
        else:
            if plainest(language).endswith("file"):
                yield language, f"```{language}"
            yield from source_names(f"block.{language}", content)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Language and content of each fenced block."""
    fence, language, content = "", "", list[str]()
    quoted = False
    for line in _LINE.split(text):
        found = _FENCE.match(line)
        if not fence and found is not None:
            fence, language, content = found[2], found[3].lower(), []
            quoted = bool(found[1])
        elif fence and found is not None and found[2].startswith(fence) and not found[3]:
            yield language, "\n".join(content)
            fence = ""
        elif fence:
            content.append(_QUOTE.sub("", line, count=1) if quoted else line)
    if fence:  # cut off: what is there counts
        yield language, "\n".join(content)


def _diff_names(text: str) -> Iterator[Named]:
    path, added = "", list[str]()
    for line in (*text.split("\n"), "+++ /dev/null"):
        if line.startswith("+++ "):
            if path:
                yield from source_names(path, "\n".join(added))
            path = line[4:].partition("\t")[0].strip().removeprefix("b/")
            path, added = ("" if path == "/dev/null" else path), []
            if path:
                yield from _path_names(path)
        elif line.startswith("+"):
            added.append(line[1:])
