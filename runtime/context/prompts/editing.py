"""Edits: applies a person's changes to the texts of a prompt.

An edit is an input of the compile like any other, so that equal inputs still give equal bytes. It
changes the text of one item, or a section's own, and never what separates texts: headings,
fences, marks of what was cut, tools, and the lines that say what data and an answer look like.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final

from ..blocks import PromptBlock, text_of
from ..errors import EditUnfitError
from ..prompt import EditNote
from ..request import Edit
from ..sanitise import sanitise
from .merging import merged
from .passages import shown_texts
from .texts import is_mark, read_text

TOOLS: Final = "tools"
_GONE: Final = "it is not in the prompt"
_ABSENT: Final = "its old text does not occur"
_TWICE: Final = "its old text occurs more than once: give more of the text around it"
_APART: Final = "it changes a line that keeps the parts of a prompt apart"
_OFFERED: Final = "the process and its grants decide which tools there are"
_EMPTY: Final = "there is no text of its own"


class Edits:
    """The edits of one prompt, by the text that they change."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._edits = edits
        self._of: dict[tuple[str, str], list[int]] = {}
        for at, edit in enumerate(edits):
            self._of.setdefault((edit.section, edit.item), []).append(at)

    def __bool__(self) -> bool:
        return bool(self._edits)

    def text(self, section: str, item: str, text: str, kept: Iterable[str] = ()) -> str:
        """The edited *text* of that place; the lines *kept* do not change."""
        return self._tried(section, item, text, kept, {})

    def notes(
        self, texts: Mapping[tuple[str, str], str], kept: Iterable[str] = ()
    ) -> tuple[EditNote, ...]:
        """The outcome of each edit, in a prompt that would have these *texts* without them.

        Raises:
            EditUnfitError: A required edit was not applied.
        """
        problems = dict.fromkeys(range(len(self._edits)), _GONE)
        for section, item in self._of:
            if (text := texts.get((section, item))) is not None:
                self._tried(section, item, text, kept, problems)
        for at, problem in problems.items():
            edit = self._edits[at]
            if problem and edit.must:
                raise EditUnfitError(edit.item or f"the {edit.section} itself", problem)
        return tuple(_note(self._edits[at], why) for at, why in problems.items())

    def _tried(
        self, section: str, item: str, text: str, kept: Iterable[str], problems: dict[int, str]
    ) -> str:
        for at in self._of.get((section, item), ()):
            text, problems[at] = changed(text, self._edits[at], kept)
        return text


def changed(text: str, edit: Edit, kept: Iterable[str] = ()) -> tuple[str, str]:
    """*text* with *edit*, sanitised, and ""; if that fails, *text* unchanged and the reason."""
    if edit.section == TOOLS:
        return text, _OFFERED
    new = sanitise(edit.new)[0]
    if edit.old in text:
        if not _is_once(edit.old, text):
            return text, _TWICE
        after = text.replace(edit.old, new)
    else:
        # The text around it may have changed, for example with another input of the step.
        fitted = None if edit.must else merged(text, edit.old, new)
        if fitted is None:
            return text, _ABSENT
        after = fitted
    lost = [line for line in kept if line in text and line not in after]
    if lost or marks(after) != marks(text):
        return text, _APART
    return after, ""


def marks(text: str) -> list[str]:
    """The lines of *text* that separate the parts of a prompt."""
    return [line for line in text.split("\n") if is_mark(line)]


def edits_between(
    before: Sequence[PromptBlock], after: str, ids: Iterable[str]
) -> tuple[Edit, ...]:
    """The edits of a person who was shown the text *before* and returned *after*.

    Args:
        before: The compiled prompt.
        after: The whole text, with changes.
        ids: Of the items that were considered for it, as its manifest has them.

    Raises:
        EditUnfitError: The person changed a separator of parts, or a tool.
    """
    known = tuple(ids)
    old, new = shown_texts(before, known), shown_texts(read_text(after), known)
    if marks(text_of(before)) != marks(after) or old.items.keys() != new.items.keys():
        raise EditUnfitError("the prompt", _APART)
    own = {(section, ""): (text, new.own.get(section, "")) for section, text in old.own.items()}
    own |= {
        (section, ""): ("", text) for section, text in new.own.items() if section not in old.own
    }
    items = {(old.sections[i], i): (text, new.items[i]) for i, text in old.items.items()}
    return tuple(_edits({**own, **items}))


def _edits(texts: Mapping[tuple[str, str], tuple[str, str]]) -> Iterator[Edit]:
    for (section, item), (was, now) in texts.items():
        if was == now:
            continue
        if section == TOOLS or not was:
            problem = _OFFERED if section == TOOLS else _EMPTY
            raise EditUnfitError(item or f"the {section} itself", problem)
        old, new = _stretch(was.split("\n"), now.split("\n"))
        yield Edit(section=section, item=item, old=old, new=new)


def _stretch(was: Sequence[str], now: Sequence[str]) -> tuple[str, str]:
    """The lines of *was* that are others *now*, with as many around as make them the only ones."""
    blocks = SequenceMatcher(None, was, now, autojunk=False).get_opcodes()
    differ = [block for block in blocks if block[0] != "equal"]
    whole, start, end = "\n".join(was), differ[0][1], differ[-1][2]
    after = now[differ[0][3] : differ[-1][4]]  # none, where lines are gone: then with one around
    while (start, end) != (0, len(was)) and not (
        after and _is_once("\n".join(was[start:end]), whole)
    ):
        start, end = max(0, start - 1), min(len(was), end + 1)
        after = now[start : len(now) - (len(was) - end)]
    return "\n".join(was[start:end]), "\n".join(after)


def _is_once(part: str, text: str) -> bool:
    """Whether *part* stands in *text*, and at one place only: `count` passes over what overlaps."""
    at = text.find(part)
    return at >= 0 and at == text.rfind(part)


def _note(edit: Edit, why: str) -> EditNote:
    return EditNote(
        section=edit.section,
        item=edit.item,
        by=edit.by,
        note=edit.note,
        applied=not why,
        why=why,
    )
