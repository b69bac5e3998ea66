"""Skills: a folder of knowledge that a model is shown whole once it asks for it.

`skills/NAME/SKILL.md` in a home is one. Its one line is the `description:` between the lines `---`
at its beginning, or else the first line of its text.
"""

import re
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from cortex.runtime.knowledge import KnowledgeError, read_document

FOLDER: Final = "skills"  # of a home
PAGE: Final = "SKILL.md"
LARGEST_BYTES: Final = 256 * 1024  # it is shown whole
LONGEST_LINE: Final = 200  # characters of a description
_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,63}")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_DESCRIPTION = re.compile(r"^description:[ \t]*[>|]?[-+]?[ \t]*(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)


class Skill(msgspec.Struct, frozen=True):
    """A skill that a step may enable as it enables a pack of tools."""

    name: str
    description: str  # one line
    path: str  # of its page, on this machine; never shown
    digest: str = ""  # of its page; "" where it was not read


def skill_of(name: str, text: str, path: str = "") -> Skill:
    """The skill that a page with *text* is."""
    front = _FRONT.match(text)
    said = _DESCRIPTION.search(front[1]) if front else None
    line = (
        said[1].strip().strip("\"'") if said else _first_line(text[front.end() if front else 0 :])
    )
    return Skill(name, _one_line(line) or name, path, sha256(text.encode()).hexdigest())


def find_skills(home: Path) -> tuple[Skill, ...]:
    """The skills in *home*, by name; unreadable pages are left out."""
    found: list[Skill] = []
    folder = home / FOLDER
    for page in sorted(folder.glob(f"*/{PAGE}")):
        name = page.parent.name
        inside = page.resolve().is_relative_to(folder.resolve())
        if inside and _NAME.fullmatch(name) and page.is_file():
            try:
                found.append(skill_of(name, read_skill(Skill(name, "", str(page))), str(page)))
            except KnowledgeError:
                continue
    return tuple(found)


def read_skill(skill: Skill) -> str:
    """The whole page of a skill, without what stands between the lines `---`.

    Raises:
        KnowledgeError: It cannot be read, is no text, or is too large to be shown whole.
    """
    text = read_document(Path(skill.path), LARGEST_BYTES).text.replace("\r\n", "\n")
    return _FRONT.sub("", text, count=1) if skill.description else text


def _first_line(text: str) -> str:
    lines = (line.strip().lstrip("# ").strip() for line in text.splitlines())
    return next((line for line in lines if line), "")


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:LONGEST_LINE]
