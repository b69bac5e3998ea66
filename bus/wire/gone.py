"""The end of a connection, which is not an error: the client connects again."""


class Gone(Exception):  # noqa: N818  # the end of a connection, not an error
    """The other end is gone, or cut it off.

    Attributes:
        cut: It was there: it ended the connection before the client was let in.
    """

    def __init__(self, how: str = "", *, cut: bool = False) -> None:
        super().__init__(how)
        self.cut = cut
