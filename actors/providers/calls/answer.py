"""The fold of a streamed answer: pieces in, what the model said out, and the JSON in that."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from cortex.runtime.models import Usage
from cortex.runtime.secrets import MaskedPieces

from .failures import CallFailedError, mask_of_key

LARGEST_ANSWER_BYTES = 240_000  # an event holds 256 KiB, with what it echoes
MOST_CALLS = 256
LONGEST_TOOL_CHARS = 256
LONGEST_ID_CHARS = 16_384  # some endpoints keep what they thought in it
CALL_BYTES = 32  # of a call, beside its texts
MOST_TOKENS = 100_000_000  # of one class in one answer; no window is near
DEEPEST = 100  # values in one another; all that read an event later stand on stacks of their own

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)


class CallPiece(msgspec.Struct, frozen=True):
    """A part of one tool call; id and tool stand in the first one."""

    index: int
    id: str = ""
    tool: str = ""
    arguments: str = ""  # a part of their JSON


class UsagePiece(msgspec.Struct, frozen=True):
    """Tokens as far as they are told; None leaves what was told before."""

    input: int | None = None
    cached_read: int | None = None
    cached_write: int | None = None
    output: int | None = None


class Piece(msgspec.Struct, frozen=True):
    """What one event of a stream says."""

    text: str = ""
    calls: tuple[CallPiece, ...] = ()
    stop: str = ""
    usage: UsagePiece | None = None


class _Call(msgspec.Struct):
    id: str
    tool: str
    arguments: list[str]


class ModelAnswer:
    """What a model has said so far.

    Args:
        key: What `take` leaves out.
    """

    def __init__(self, key: str = "") -> None:
        self.stop = ""  # empty until the model says that it is done
        self._pieces = MaskedPieces(mask_of_key(key))
        self._bytes = 0
        self._texts: list[str] = []
        self._fresh = 0  # texts that `take` has given out
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._usage: dict[str, int] = {}

    def add(self, piece: Piece) -> None:
        """Hear one more piece.

        Raises:
            CallFailedError: The answer grows larger than an event.
        """
        if piece.text:
            self._texts.append(piece.text)
            self._bytes += _size(piece.text)
        for part in piece.calls:
            self._add_call(part)
        self.stop = piece.stop or self.stop
        if piece.usage is not None:
            told = msgspec.structs.asdict(piece.usage)
            self._usage.update({name: count for name, count in told.items() if count is not None})
        if self._bytes > LARGEST_ANSWER_BYTES:
            raise CallFailedError(
                "garbage", f"the answer has more than {LARGEST_ANSWER_BYTES:,} bytes"
            )

    def take(self, *, last: bool = False) -> str:
        """The text that came since this was asked last.

        What may be the beginning of the key stays behind until more comes, or the *last* is asked.
        """
        fresh = "".join(self._texts[self._fresh :])
        self._fresh = len(self._texts)
        return self._pieces.next(fresh, last=last)

    @property
    def text(self) -> str:
        """All of the text."""
        return "".join(self._texts)

    @property
    def usage(self) -> Usage | None:
        """Tokens by class; None where the endpoint did not tell, or told what cannot be."""
        if "input" not in self._usage or "output" not in self._usage:
            return None
        usage = Usage(**self._usage)
        possible = all(0 <= count <= MOST_TOKENS for count in self._usage.values())
        read = usage.input + usage.cached_read + usage.cached_write
        said = bool(self._texts or self._calls)
        # No prompt is empty, and nothing is said without tokens.
        return usage if possible and read and (usage.output or not said) else None

    def calls(self) -> list[dict[str, Any]]:
        """The tools that the model wants to use; what cannot be read of arguments is kept."""
        return [_told(call, number) for number, call in enumerate(self._calls)]

    def _add_call(self, part: CallPiece) -> None:
        call = self._by_index.get(part.index)
        # Some servers number all calls 0: another id is another call.
        if call is None or (part.id and call.id and part.id != call.id):
            call = self._by_index[part.index] = _Call("", "", [])
            self._calls.append(call)
            self._bytes += CALL_BYTES
        if part.id and not call.id:
            call.id = part.id
            self._bytes += _size(part.id)
        if part.tool and not call.tool:
            call.tool = part.tool
            self._bytes += _size(part.tool)
        if part.arguments:
            call.arguments.append(part.arguments)
            self._bytes += _size(part.arguments)
        if (
            len(self._calls) > MOST_CALLS
            or len(part.tool) > LONGEST_TOOL_CHARS
            or len(part.id) > LONGEST_ID_CHARS
        ):
            problem = f"it calls more than {MOST_CALLS} tools at once, or one by an endless name"
            raise CallFailedError("garbage", problem, hostile=True)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _told(call: _Call, number: int) -> dict[str, Any]:
    text = "".join(call.arguments)
    told: dict[str, Any] = {"id": call.id or f"call_{number}", "tool": call.tool}
    arguments: Any = plain(text) if text.strip() else {}
    if isinstance(arguments, dict):
        return {**told, "arguments": arguments}
    problem = "the arguments are not a JSON object"
    return {**told, "arguments": {"_raw": text}, "problem": problem}


def parsed(text: str) -> Any | None:
    """The JSON value that *text* is, or that stands in its first fence, or its first object.

    None where there is none, or none that an event can hold. Whether it fits a schema is not asked.
    """
    fenced = _FENCED.search(text)
    for candidate in (text, fenced[1] if fenced else ""):
        value = plain(candidate)
        if value is not None:
            return value
    start = text.find("{")
    if start < 0:
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return plain(text[start:end])


def plain(text: str) -> Any | None:
    """The value of a text that is JSON and nothing else; None where no event can hold it."""
    try:
        value = msgspec.json.decode(text)
        msgspec.msgpack.encode(value)  # its integers have 64 bits
    except (ValueError, OverflowError, RecursionError):
        return None
    may_be_deep = text.count("[") + text.count("{") > DEEPEST
    return None if may_be_deep and _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return any(isinstance(each, dict | list) for each in level)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()
