"""The fold of a streamed answer: pieces in, what the model said out."""

from typing import Any

import msgspec

from cortex.runtime.models import Usage

from .errors import CallFailedError
from .typed import plain

LARGEST_ANSWER_CHARS = 60_000  # an event holds 256 KiB, and a typed answer is in there twice


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


class Answer:
    """What a model has said so far."""

    def __init__(self) -> None:
        self.stop = ""  # empty until the model says that it is done
        self.chars = 0
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
            self.chars += len(piece.text)
        for part in piece.calls:
            self._add_call(part)
        self.stop = piece.stop or self.stop
        if piece.usage is not None:
            told = msgspec.structs.asdict(piece.usage)
            self._usage.update({name: count for name, count in told.items() if count is not None})
        if self.chars > LARGEST_ANSWER_CHARS:
            raise CallFailedError(
                "garbage", f"the answer has more than {LARGEST_ANSWER_CHARS:,} characters"
            )

    def take(self) -> str:
        """The text that came since this was asked last."""
        fresh = "".join(self._texts[self._fresh :])
        self._fresh = len(self._texts)
        return fresh

    @property
    def text(self) -> str:
        """All of the text."""
        return "".join(self._texts)

    @property
    def usage(self) -> Usage | None:
        """Tokens by class; None where the endpoint did not tell."""
        if "input" in self._usage and "output" in self._usage:
            return Usage(**self._usage)
        return None

    def calls(self) -> list[dict[str, Any]]:
        """The tools that the model wants to use; what cannot be read of arguments is kept."""
        return [_told(call, number) for number, call in enumerate(self._calls)]

    def _add_call(self, part: CallPiece) -> None:
        call = self._by_index.get(part.index)
        # Some servers number all calls 0: another id is another call.
        if call is None or (part.id and call.id and part.id != call.id):
            call = self._by_index[part.index] = _Call(part.id, part.tool, [])
            self._calls.append(call)
        call.id = call.id or part.id
        call.tool = call.tool or part.tool
        call.arguments.append(part.arguments)
        self.chars += len(part.arguments)


def _told(call: _Call, number: int) -> dict[str, Any]:
    text = "".join(call.arguments)
    told: dict[str, Any] = {"id": call.id or f"call_{number}", "tool": call.tool}
    arguments = plain(text) if text.strip() else {}
    if isinstance(arguments, dict):
        return {**told, "arguments": arguments}
    problem = "the arguments are not a JSON object"
    return {**told, "arguments": {"_raw": text}, "problem": problem}
