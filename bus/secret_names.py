"""Checks that the names of an event contain no secret, because they are recorded as they are."""

from collections.abc import Callable, Sequence

import msgspec

from .errors import EventInvalidError
from .event import Draft

NAMES = ("topic", "stream", "key", "correlation", "subject")

_ENCODE = msgspec.msgpack.Encoder().encode


def refuse_secret_names(
    drafts: Sequence[Draft], mask: Callable[[Sequence[Draft]], Sequence[Draft]]
) -> None:
    """Refuse *drafts* where *mask* would hide something in a name of one of them.

    A name is not masked: what is filed under another one than was said is found by nobody.

    Raises:
        EventInvalidError: One holds a secret; the message says which, and not the secret.
    """
    if not drafts:
        return
    names = {name: None for draft in drafts for what in NAMES if (name := getattr(draft, what))}
    if not _hides(mask, drafts[0], list(names)):
        return
    for draft in drafts:
        for what in NAMES:
            if (name := getattr(draft, what)) and _hides(mask, draft, [name]):
                topic = "x" if what == "topic" else draft.topic
                problem = f"its {what} holds a secret, and would be recorded in clear: leave it out"
                raise EventInvalidError(topic, problem)


def _hides(
    mask: Callable[[Sequence[Draft]], Sequence[Draft]], draft: Draft, names: list[str]
) -> bool:
    body = _ENCODE(names)
    return mask((msgspec.structs.replace(draft, body=body),))[0].body != body
