"""The end of a connection, which is no error: whoever hears of it comes again."""


class Gone(Exception):  # noqa: N818  # the end of a connection, not an error
    """The other end is gone, or was cut off; *args* say how."""
