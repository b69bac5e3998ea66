"""Reads the check of a goal from a command line: a gate, or a program.

NAME         a gate, if there is one of that name
NAME={...}   a gate, always; its parameters are a JSON object
WORDS        a program and its words, split as a shell would: on PATH, or a path in the
             workspace; `command={"run": [...]}` is the same, and nothing is looked up for it
"""

import json
import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from cortex.runtime.processes import did_you_mean, listed, nearest

from ..errors import ArgumentError

COMMAND: Final = "command"  # the gate that runs a program
_OF_A_GATE: Final = re.compile(r"\s*([\w.-]+)\s*=(.*)", re.DOTALL)


def check_of(text: str, gates: Collection[str], workspace: Path, allow: Sequence[str] = ()) -> Any:
    """The gate in *text*, as a process would write it.

    Args:
        text: As typed.
        gates: Names of all known gates.
        workspace: Base of a program's relative path.
        allow: The programs that may run; if empty, all.

    Raises:
        ArgumentError: It is neither a gate nor a program; the error suggests the nearest.
    """
    of_gate = _OF_A_GATE.fullmatch(text)
    if of_gate:
        name, given = of_gate.groups()
        if name not in gates:
            raise _wrong(f"there is no gate `{name}`: {_known(name, gates)}")
        return {name: object_of(given, f"--check {text!r}")}
    if text.strip() in gates:
        return text.strip()
    words = _words(text)
    _refuse_no_program(words, gates, workspace, allow)
    # Plain text, as typed: `${...}` in it is no reference.
    return {COMMAND: {"run": [word.replace("${", "$${") for word in words]}}


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _wrong(f"{text!r} cannot be split into words: {error}") from None
    if not words or not words[0]:
        raise _wrong("it is empty: name a gate or a program")
    return words


def _refuse_no_program(
    words: Sequence[str], gates: Collection[str], workspace: Path, allow: Sequence[str]
) -> None:
    program = words[0]
    if program in gates:
        form = f"`{program}={{...}}` gives it parameters"
        raise _wrong(f"`{program}` is a gate, which takes no words: {form}")
    if allow and program not in allow:
        raise _wrong(f"config.toml allows these programs alone: {', '.join(allow)}")
    if os.sep in program:
        if not (workspace / program).is_file():
            raise _wrong(f"`{program}` is not a program: there is no such file in {workspace}")
    elif shutil.which(program) is None:
        near = nearest(program, gates)
        meant = f"the gate `{near}`" if near else ""
        if not meant and (near := nearest(program, set(_programs(program[0])))):
            meant = f"the program `{near}`"
        hint = f"did you mean {meant}?" if meant else f"there are the gates {listed(gates)}"
        raise _wrong(f"`{program}` is neither a gate nor a program: {hint}")


def _programs(letter: str) -> Iterator[str]:
    """Names on PATH that begin with *letter*."""
    for folder in os.get_exec_path():
        try:
            with os.scandir(folder) as entries:
                yield from (each.name for each in entries if each.name.startswith(letter))
        except OSError:
            continue


def object_of(given: str, whose: str) -> dict[str, Any]:
    """The parameters that *given* has as JSON, behind the `=` of *whose*.

    Raises:
        ArgumentError: It is no JSON object.
    """
    try:
        value = json.loads(given)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ArgumentError(f"{whose}: after = a JSON object with parameters is expected")
    return value


def _known(name: str, gates: Collection[str]) -> str:
    return did_you_mean(name, gates, f"there are {listed(gates)}")


def _wrong(message: str) -> ArgumentError:
    return ArgumentError(message, "--check")
