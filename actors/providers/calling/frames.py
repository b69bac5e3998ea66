"""Server-sent events out of a body that comes in pieces of any size."""

from .errors import CallFailedError

LARGEST_FRAME_BYTES = 1 << 20


class Frames:
    """Collects bytes and gives the data of each event once it is whole.

    Lines end where a line feed is, and nowhere else: JSON may hold other characters that split text
    into lines.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0  # bytes of data, and one a line, as empty ones take room too
        self.count = 0  # events so far

    def feed(self, received: bytes) -> list[bytes]:
        """The data of the events that *received* completes.

        Raises:
            CallFailedError: One is larger than any answer may be.
        """
        lines = (self._rest + received).split(b"\n")
        self._rest = lines.pop()
        found: list[bytes] = []
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
                self._size += len(line) - 4
            elif not line and self._data:
                found.append(b"\n".join(self._data))
                self._data.clear()
                self._size = 0
        self.count += len(found)
        if len(self._rest) + self._size > LARGEST_FRAME_BYTES:
            raise CallFailedError("garbage", "the endpoint sends lines without an end")
        return found
