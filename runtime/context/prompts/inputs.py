"""Stores the inputs of a prompt, so that it can be compiled again.

A long text is stored once under its digest, however many prompts contain it: a step's later turn
stores its new texts, and a line for each earlier one.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from ..request import Item, Request, TurnPart, View

LEAST_CHARS: Final = 500  # of a text that is kept apart; below that a file of its own costs more

Keep = Callable[[bytes], str]  # stores bytes, returns their digest
Text = TypeVar("Text", Item, TurnPart)


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `ContextCompiler.compile`; equal inputs give equal bytes."""

    encoding: str
    request: Request
    view: View = View()
    program: str = ""  # version of Cortex that compiled it; another one may make other bytes
    compiler: int = 1  # version of the compiler


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    inputs: Inputs  # without the texts that are kept apart
    texts: dict[str, str]  # digest of each of them, by the id of its item


class _Named(msgspec.Struct, frozen=True):
    texts: dict[str, str]  # of a record whose other fields are not looked at


class _Version(msgspec.Struct, frozen=True):
    compiler: int = 1


class _Versioned(msgspec.Struct, frozen=True):
    inputs: _Version


def keep_inputs(inputs: Inputs, keep: Keep) -> str:
    """Store *inputs*; returns the digest of their record."""
    texts: dict[str, str] = {}

    def part(one: Text) -> Text:
        if len(one.text) < LEAST_CHARS:
            return one
        texts[one.id] = keep(one.text.encode())
        return msgspec.structs.replace(one, text="")

    record = _Record(inputs=_with_texts(inputs, part, part), texts=texts)
    return keep(msgspec.json.encode(record))


def read_inputs(record: bytes, text_of: Callable[[str], bytes]) -> Inputs:
    """The inputs that `keep_inputs` stored as *record*; *text_of* returns a text by its digest.

    Raises:
        msgspec.DecodeError: *record* is not such a record.
        Exception: Whatever *text_of* raises for a missing text.
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
        msgspec.DecodeError: It is not a record of `keep_inputs`.
    """
    return tuple(msgspec.json.decode(record, type=_Named).texts.values())


def compiler_of_inputs(record: bytes) -> int:
    """Version of the compiler for which `keep_inputs` stored *record*.

    Raises:
        msgspec.DecodeError: It is not a record of `keep_inputs`.
    """
    return msgspec.json.decode(record, type=_Versioned).inputs.compiler


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
