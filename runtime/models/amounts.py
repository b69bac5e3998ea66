"""What models took, by class of tokens: as people read it, and added up."""

from .description import Usage


def counted(usage: Usage) -> str:
    """Tokens by class, without the classes of the cache where nothing went through it."""
    cached = [
        f"{tokens:,} {what} the cache"
        for tokens, what in (
            (usage.cached_read, "read from"),
            (usage.cached_write, "written to"),
        )
        if tokens
    ]
    return ", ".join((f"{usage.input:,} in", *cached, f"{usage.output:,} out"))


def plus(one: Usage, other: Usage) -> Usage:
    """The tokens of both, class by class."""
    return Usage(
        input=one.input + other.input,
        cached_read=one.cached_read + other.cached_read,
        cached_write=one.cached_write + other.cached_write,
        output=one.output + other.output,
    )
