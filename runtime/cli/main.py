"""The entry point: runs a command, and turns whatever comes back into an exit code."""

import contextlib
import os
import sys
from collections.abc import Sequence

import click

from . import exits
from .tree import root

DEBUG = "CORTEX_DEBUG"
COMPLETE = "_CORTEX_COMPLETE"  # set by the scripts of `cortex completion`


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line *args*; the exit code comes back."""
    for stream in (sys.stdout, sys.stderr):
        # A log's stray bytes must not end the command that shows them.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    asked = os.environ.get(COMPLETE)
    if asked:
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, "cortex", COMPLETE, asked)
    try:
        code = _invoke(list(sys.argv[1:] if args is None else args))
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return exits.BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        return exits.INTERRUPTED
    except Exception as error:  # a command's failure is one line, whatever it was
        if os.environ.get(DEBUG):
            raise
        with contextlib.suppress(BrokenPipeError):
            return _report(error)
        _forget_output()
        return exits.BROKEN_PIPE
    return code


def _invoke(args: list[str]) -> int:
    try:
        with root.make_context("cortex", args) as context:
            code = root.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    return code if isinstance(code, int) else exits.OK


def _report(error: Exception) -> int:
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "cortex"
        _say(f"{error.format_message().rstrip('.')} (see `{where} --help`)")
        return exits.USAGE
    if isinstance(error, click.ClickException):
        _say(error.format_message())
        return error.exit_code
    code = exits.exit_code_of(error)
    if code == exits.DEFECT:
        _say(
            f"{type(error).__name__}: {error} -- this is a defect of Cortex, nothing recorded is "
            f"lost; {DEBUG}=1 shows where it is"
        )
    elif isinstance(error, OSError) and error.strerror:
        _say(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    else:
        _say(str(error))
    return code


def _say(problem: str) -> None:
    lines = [line.strip() for line in problem.splitlines() if line.strip()]
    click.echo(f"cortex: {' '.join(lines) or 'failed'}", err=True)


def _forget_output() -> None:
    # Python flushes both at exit and would complain about the pipe once more.
    devnull = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(devnull, stream.fileno())
