"""All that a prompt was compiled from, as it is kept, so that it can be compiled again.

A long text is kept once under its digest, however many prompts it goes into: a step's later turn
keeps what is new in it, and a line for each text of the turns before.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from ..request import Item, Request, TurnPart, View

LEAST_CHARS: Final = 500  # of a text that is kept apart; below that a file of its own costs more

Keep = Callable[[bytes], str]  # stores bytes, gives their digest
Text = TypeVar("Text", Item, TurnPart)


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What `ContextCompiler.compile` was given; equal inputs give equal bytes."""

    encoding: str
    request: Request
    view: View = View()
    program: str = ""  # version of Cortex that compiled it; another one may make other bytes


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    inputs: Inputs  # without the texts that are kept apart
    texts: dict[str, str]  # digest of each of them, by the id of its item


class _Named(msgspec.Struct, frozen=True):
    texts: dict[str, str]  # of a record whose other fields are not looked at


def keep_inputs(inputs: Inputs, keep: Keep) -> str:
    """Keep *inputs*; the digest of the record of them comes back."""
    texts: dict[str, str] = {}

    def part(one: Text) -> Text:
        if len(one.text) < LEAST_CHARS:
            return one
        texts[one.id] = keep(one.text.encode())
        return msgspec.structs.replace(one, text="")

    record = _Record(inputs=_with_texts(inputs, part, part), texts=texts)
    return keep(msgspec.json.encode(record))


def read_inputs(record: bytes, text_of: Callable[[str], bytes]) -> Inputs:
    """What `keep_inputs` kept as *record*, each text by *text_of* its digest.

    Raises:
        msgspec.DecodeError: *record* is none.
        Exception: Whatever *text_of* raises for a text that it cannot give.
    """
    read = msgspec.json.decode(record, type=_Record)
    texts: Mapping[str, str] = {
        name: text_of(digest).decode() for name, digest in read.texts.items()
    }

    def whole(one: Text) -> Text:
        if one.id not in texts:
            return one
        return msgspec.structs.replace(one, text=texts[one.id])

    return _with_texts(read.inputs, whole, whole)


def texts_of_inputs(record: bytes) -> tuple[str, ...]:
    """Digests of the texts that *record* names.

    Raises:
        msgspec.DecodeError: It is none that `keep_inputs` made.
    """
    return tuple(msgspec.json.decode(record, type=_Named).texts.values())


def _with_texts(
    inputs: Inputs, item: Callable[[Item], Item], said: Callable[[TurnPart], TurnPart]
) -> Inputs:
    """*inputs* with every item and all that was said in turns passed through."""
    replace, request, view = msgspec.structs.replace, inputs.request, inputs.view
    turns = (replace(turn, said=tuple(map(said, turn.said))) for turn in request.turns)
    return replace(
        inputs,
        request=replace(request, items=tuple(map(item, request.items)), turns=tuple(turns)),
        view=replace(view, items=tuple(map(item, view.items))),
    )
