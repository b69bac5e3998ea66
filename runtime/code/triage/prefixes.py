"""What a tool that runs others puts before their lines: ant, Gradle, BuildKit and compose do."""

import re
from collections.abc import Sequence

_PREFIX = re.compile(
    r"\s{1,12}\[(?:java|exec|junitlauncher)\] ?"  # ant sets its tasks' names to the right
    r"|(?::[\w-]{1,60}){1,6}(?=/\S{1,300}\.\w{1,9}:\d)"  # Gradle: the task on the same line
    r"|#\d{1,4} \d{1,6}\.\d{1,3} "  # BuildKit: step and seconds
    r"|[A-Za-z][\w.-]{0,60}[-_]\d{1,4} {1,40}\| ?"  # compose: service and number
)
_MAX_CHARS = 400  # of a line, where a prefix and what it is known by stand


def bare(texts: Sequence[str]) -> Sequence[str]:
    """Return *texts* as the programs printed them; where no line has a prefix, the same object."""
    shorter = {i: cut for i, text in enumerate(texts) if (cut := _bare(text)) is not None}
    if not shorter:
        return texts
    return [shorter.get(i, text) for i, text in enumerate(texts)]


def _bare(text: str) -> str | None:
    if text[:1] not in "#: " and "| " not in text[:_MAX_CHARS]:
        return None
    found = _PREFIX.match(text[:_MAX_CHARS])
    return text[found.end() :] if found else None
