"""Reads inputs that a person writes, NAME=VALUE or a file with a map, for a process."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import CortexError
from cortex.runtime.executions import breakpoint_places, checked_inputs, unknown_step
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, mask_for
from cortex.runtime.processes import Field, LinkedProcess
from cortex.runtime.secrets import Mask

from .errors import ArgumentError

_JSON = frozenset(("integer", "number", "boolean", "list", "map"))
_ARTICLE = {"integer": "an"}
LARGEST_FILE_BYTES = 200_000  # the inputs become part of an event's body, which is bounded


def pairs_of(texts: Iterable[str], what: str) -> dict[str, str]:
    """Value by name of texts such as `log=build.txt`.

    Raises:
        ArgumentError: One of them is not NAME=VALUE, or a name comes twice.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name.strip()):
            raise ArgumentError(f"{text!r} is not {what}=VALUE")
        if name in pairs:
            raise ArgumentError(f"{name!r} is given twice")
        pairs[name.strip()] = value
    return pairs


def inputs_of(
    pairs: Mapping[str, str], file: Path | None, fields: Sequence[Field]
) -> dict[str, Any]:
    """Typed inputs: those in *file*, and *pairs* over them, read as *fields* declare them.

    Raises:
        ArgumentError: A value is not of its type, or the file holds no map.
    """
    types = {field.name: field.type for field in fields}
    given: dict[str, Any] = _read(file) if file else {}
    given |= {name: typed(name, value, types.get(name, "string")) for name, value in pairs.items()}
    for name, value in given.items():
        if types.get(name) == "path" and isinstance(value, str):
            # The execution may run in another folder, and continue another day.
            given[name] = str(Path(value).expanduser().absolute())
    return given


def edited_inputs(history: History, execution_id: str, pairs: dict[str, str]) -> dict[str, Any]:
    """Typed inputs that are to be changed, read as the process of the execution declares them.

    Raises:
        ArgumentError: A value is not of its type.
    """
    started = history.execution(execution_id).started
    fields: Sequence[Field] = ()
    if started is not None and started.linked:
        data = history.blobs.get(started.linked)
        fields = msgspec.json.decode(data, type=LinkedProcess).inputs
    return inputs_of(pairs, None, fields)


def refuse_wrong(process: LinkedProcess, given: dict[str, Any], *, whole: bool = True) -> None:
    """See that *process* takes *given*, before anything is recorded.

    Args:
        process: What is to run.
        given: Its inputs.
        whole: Whether that is all it gets; else required ones may be missing.

    Raises:
        ArgumentError: It does not; the message shows the options that are missing.
    """
    fields = process.inputs
    if not whole:
        fields = tuple(msgspec.structs.replace(each, required=False) for each in fields)
    _, wrong = checked_inputs(fields, given)
    if not wrong:
        return
    missing = [
        f"-i {field.name}=…"
        for field in fields
        if field.required and field.default is None and given.get(field.name) is None
    ]
    add = f"; add {' '.join(missing)}" if missing else ""
    raise ArgumentError(f"the inputs of {process.name} are wrong: {'; '.join(wrong)}{add}")


def refuse_breaks(process: LinkedProcess, breaks: Sequence[str], called: str = "") -> None:
    """See that *process*, *called* so, has every step before which a pause is asked for.

    Raises:
        NotFoundError: It does not; the message has the nearest name.
    """
    places = breakpoint_places(process)
    for name in breaks:
        if name not in places:
            raise unknown_step(called or process.name, name, places)


def mask_of(home: Home) -> Mask:
    """What hides the secrets that are known in *home*, as its hub does to all that it records.

    Where its settings are wrong or not trusted, it hides what looks like a secret.
    """
    try:
        return mask_for(Config.load(home), home)
    except CortexError:
        return Mask()


def refuse_secrets(given: Mapping[str, Any], mask: Mask) -> None:
    """See that nothing of *given* would be masked: steps would be run with the mask.

    Raises:
        ArgumentError: An input holds a secret; the message does not.
    """
    for name, value in given.items():
        data = json.dumps(value).encode()
        if mask.data(data) is not data:
            raise ArgumentError(
                f"{name} holds a secret, which is never recorded, so that steps would be given a "
                "mask in its place: put it into a variable, and name that in the step's `env`"
            )


def typed(name: str, value: str, kind: str) -> Any:
    """*value* as an input of type *kind*.

    Raises:
        ArgumentError: It does not have that type.
    """
    if kind not in _JSON:
        return value
    try:
        return _recordable(name, json.loads(value))
    except RecursionError:
        raise ArgumentError(f"{name} is nested too deeply") from None
    except ValueError:
        example = {"list": '["a", "b"]', "map": '{"a": 1}', "boolean": "true"}.get(kind, "3")
        raise ArgumentError(
            f"{name} is {value!r}, expected {_ARTICLE.get(kind, 'a')} {kind} such as {example}"
        ) from None


def scalar(value: str) -> Any:
    """A trigger's field as YAML would read it: true, 3, 0.5, or the text."""
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return _recordable("the field", kind(value))
        except ValueError:
            continue
    return value


def _recordable(name: str, value: Any) -> Any:
    try:
        msgspec.msgpack.encode(value)
    except OverflowError:
        raise ArgumentError(
            f"{name} holds a whole number over 64 bits, which cannot be recorded: give it as a text"
        ) from None
    return value


def _read(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > LARGEST_FILE_BYTES:
            raise ArgumentError(
                f"{file} has over {LARGEST_FILE_BYTES:,} bytes: pass its path as an input"
            )
        text = file.read_text(encoding="utf-8")
        given = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise ArgumentError(f"{file} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise ArgumentError(f"{file} is nested too deeply") from None
    except ValueError as error:
        raise ArgumentError(f"{file} is neither JSON nor TOML: {error}") from None
    if not isinstance(given, dict):
        raise ArgumentError(f"{file} holds no map of names to values")
    _recordable(str(file), given)
    return given
