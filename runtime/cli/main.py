"""The entry point: runs a command, and turns its result or error into an exit code."""

import contextlib
import os
import sys
from collections.abc import Sequence

import click

from cortex.runtime.isolation import enter_process

from . import exits
from .tree import RunAgainError, root

DEBUG = "CORTEX_DEBUG"
SHOWN = 80  # characters of an argument that is no text
COMPLETE = "_CORTEX_COMPLETE"  # set by the scripts of `cortex completion`


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line *args*; the exit code comes back.

    Without *args* it is that of this process, which is then Cortex's own.
    """
    if args is None:
        enter_process()
    for stream in (sys.stdout, sys.stderr):
        # A log's stray bytes must not end the command that shows them.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    asked = os.environ.get(COMPLETE)
    if asked:
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, "cortex", COMPLETE, asked)
    try:
        code = _invoke(_text(sys.argv[1:] if args is None else args))
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return exits.BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        return exits.INTERRUPTED
    except Exception as error:  # every failure of a command is printed as one line
        if os.environ.get(DEBUG):
            raise
        with contextlib.suppress(BrokenPipeError):
            return _report(error)
        _forget_output()
        return exits.BROKEN_PIPE
    return code


def _text(args: Sequence[str]) -> list[str]:
    """The arguments, which are text: other bytes have no place in an event."""
    for number, arg in enumerate(args, 1):
        if any(map(_is_byte, arg)):
            raise click.UsageError(f"argument {number} is not UTF-8: {_shown(arg)}")
    return list(args)


def _invoke(args: list[str]) -> int:
    try:
        with root.make_context("cortex", args) as context:
            code = root.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except RunAgainError:
        return _invoke(args)
    return code if isinstance(code, int) else exits.OK


def _report(error: Exception) -> int:
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "cortex"
        from .screen import said_of

        _say(f"{said_of(error)} (see `{where} --help`)")
        return exits.USAGE
    if isinstance(error, click.ClickException):
        _say(error.format_message())
        return error.exit_code
    code = exits.exit_code_of(error)
    if isinstance(error, UnicodeEncodeError) and code == exits.USAGE:
        _say(f"{_shown(error.object)} is not UTF-8, and Cortex records only UTF-8: rename it")
    elif code == exits.DEFECT:
        _say(
            f"{type(error).__name__}: {error} -- this is a defect of Cortex, nothing recorded is "
            f"lost; {DEBUG}=1 shows where it is"
        )
    elif isinstance(error, OSError) and error.strerror:
        _say(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    else:
        _say(str(error))
    return code


def _is_byte(character: str) -> bool:
    # So Python gives what is no UTF-8 in an argument, a variable or the name of a folder.
    return "\udc80" <= character <= "\udcff"


def _shown(name: str) -> str:
    whole = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return whole if len(whole) <= SHOWN else f"…{whole[-SHOWN:]}"  # of a path, the name


def _say(problem: str) -> None:
    from .screen import clean  # here, not at the top: `cortex --help` gets along without it

    # A file of a checkout may have any name, and many a message holds one.
    lines = [line.strip() for line in clean(problem).splitlines() if line.strip()]
    click.echo(f"cortex: {' '.join(lines) or 'failed'}", err=True)


def _forget_output() -> None:
    # Python flushes both at exit and would complain about the pipe once more.
    devnull = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(devnull, stream.fileno())
