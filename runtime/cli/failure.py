"""What a command that failed prints where JSON was asked for."""

from typing import Any

import click
import msgspec

from .exits import exit_code_of
from .screen import SAID

_PLAIN = {
    "is not a valid float range": "is not a number",
    "is not a valid integer range": "is not a whole number",
    "is not in the range x>=": "is less than ",
}


class Failure(msgspec.Struct):
    """Why a command failed."""

    kind: str  # NotFoundError, UsageError, ...: what a program can act on
    message: str  # as on standard error
    exit_code: int
    fields: dict[str, Any] = {}  # of this kind: an execution's id, the question it asks, ...


class FailureDocument(msgspec.Struct):
    """In place of the document that the command would have printed."""

    error: Failure


def show_failure(context: click.Context, error: Exception) -> None:
    """Print *error* as a line of JSON, unless the command has printed its document already."""
    if context.meta.get(SAID):
        return
    click.echo(msgspec.json.encode(FailureDocument(_failure(error)), enc_hook=str))


def _failure(error: Exception) -> Failure:
    kind = type(error).__name__
    if isinstance(error, click.UsageError):
        return Failure("UsageError", said_of(error), error.exit_code)
    if isinstance(error, click.ClickException):
        return Failure(kind, error.format_message(), error.exit_code)
    # Here, not at the top: `cortex --help` gets along without the bus.
    from cortex.bus import CortexError

    fields = dict(vars(error)) if isinstance(error, CortexError) else {}
    return Failure(kind, str(error), exit_code_of(error), fields)


def said_of(error: click.UsageError) -> str:
    """What is wrong with a command line; of a type in plain words, where click has its own."""
    said = error.format_message().rstrip(".")
    for jargon, plain in _PLAIN.items():
        said = said.replace(jargon, plain)
    return said
