"""What stands in an event for personal fields that cannot be read any more.

An event of a subject has two bodies: the whole one, encrypted, and the clear one, which has
placeholders for personal fields and is all that is left after an erasure. It is made when the event
is recorded, so that whoever reads it later needs no class of it. It must decode as the class does:
folds go on, and show that something was there.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, get_type_hints

import msgspec
from msgspec import inspect

from .errors import EventInvalidError
from .event import Event, Recorded, readable_body

ERASED: Final = "(erased)"

Kind = TypeVar("Kind", bound=Event)

_ENCODE = msgspec.msgpack.Encoder().encode


@cache
def personal_fields(cls: type[Event]) -> tuple[str, ...]:
    """The fields of *cls* that are encrypted where an event has a subject."""
    if cls.personal is None:
        placed = (cls.belongs[1], cls.routing)
        return tuple(name for name in cls.__struct_fields__ if name not in placed)
    named = cls.subject_field
    return (*cls.personal, named) if named and named not in cls.personal else cls.personal


def placeholder(cls: type[Event] | None, topic: str, body: bytes) -> bytes:
    """The clear body of an event of *cls*.

    Nothing but its topic if the class is not known, or no placeholder fits into a field of it.
    """
    try:
        blanks = _blanks(cls) if cls is not None else None
    except EventInvalidError:
        blanks = None  # it inherited its subject: see `refuse_unfit` for one that names it
    if blanks is None:
        return _ENCODE({"topic": topic})
    fields: dict[str, Any] = msgspec.msgpack.decode(body)
    for name, blank in blanks.items():
        if name in fields:
            fields[name] = blank(fields[name])
    return _ENCODE(fields)


def erased_event(cls: type[Kind], record: Recorded) -> Kind:
    """What is left of an event of *cls*; fields that are not there are placeholders, too.

    A hub that does not know a class, as of a plugin, leaves nothing of the body.

    Raises:
        msgspec.ValidationError: No placeholder fits.
    """
    fields: dict[str, Any] = msgspec.msgpack.decode(readable_body(record))
    prefix, placed = cls.belongs
    for field in _fields(cls):
        if field.required and field.encode_name not in fields:
            if field.name == placed:
                fields[field.encode_name] = record.stream.removeprefix(f"{prefix}/")
            elif field.name == cls.routing:
                fields[field.encode_name] = record.key
            else:
                fields[field.encode_name] = _blank_of(field)
    return msgspec.convert(fields, cls)


def refuse_unfit(cls: type[Event] | None) -> None:
    """Refuse a class whose personal fields no placeholder fits.

    Raises:
        EventInvalidError: With what to change.
    """
    if cls is not None:
        _blanks(cls)


Blank = Callable[[Any], Any]


@cache
def _blanks(cls: type[Event]) -> dict[str, Blank]:
    """What takes the place of each personal field of *cls*."""
    types = get_type_hints(cls, include_extras=True)
    fields = {field.name: field for field in _fields(cls)}
    found: dict[str, Blank] = {}
    for name in personal_fields(cls):
        if name not in fields or name in (cls.belongs[1], cls.routing):
            problem = f"{name} cannot be personal: it is no field, or names its stream or key"
            raise EventInvalidError(cls.topic_name(), problem)
        blank = _blank_of(fields[name])
        try:
            msgspec.convert(blank, types[name])
        except msgspec.ValidationError as error:
            problem = (
                f"its field {name} cannot be personal: after an erasure {blank!r} stands there "
                f"({error}); let it take that, or None"
            )
            raise EventInvalidError(cls.topic_name(), problem) from None
        found[fields[name].encode_name] = _kept_if_empty(blank)
    return found


def _kept_if_empty(blank: Any) -> Blank:
    """A field that says nothing stays as it is."""
    return lambda given: blank if given else given


def _fields(cls: type[Event]) -> tuple[inspect.Field, ...]:
    info = inspect.type_info(cls)
    return info.fields if isinstance(info, inspect.StructType) else ()


_CONSTANTS: Final[tuple[tuple[type[inspect.Type], Any], ...]] = (
    (inspect.NoneType, None), (inspect.StrType, ERASED), (inspect.IntType, 0),
    (inspect.FloatType, 0.0), (inspect.BoolType, False), (inspect.BytesType, b""),
    (inspect.ListType, []), (inspect.VarTupleType, []), (inspect.SetType, []),
    (inspect.FrozenSetType, []), (inspect.DictType, {}), (inspect.AnyType, None),
    (inspect.DateTimeType, "1970-01-01T00:00:00Z"), (inspect.DateType, "1970-01-01"),
    (inspect.TimeType, "00:00:00"), (inspect.DecimalType, "0"),
    (inspect.UUIDType, "00000000-0000-0000-0000-000000000000"),
)  # fmt: skip


def _blank_of(field: inspect.Field) -> Any:
    """A value of *field* that says nothing: its default, where only some words are allowed."""
    closed = isinstance(field.type, inspect.LiteralType | inspect.EnumType)
    if closed and field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    return _blank(field.type)


def _blank(kind: inspect.Type) -> Any:
    """A value of *kind* that says nothing, as it is encoded."""
    if isinstance(kind, inspect.UnionType):
        if any(isinstance(each, inspect.NoneType) for each in kind.types):
            return None
        return _blank(kind.types[0])
    if isinstance(kind, inspect.LiteralType):
        return kind.values[0]
    if isinstance(kind, inspect.EnumType):
        return next(iter(kind.cls)).value
    if isinstance(kind, inspect.StructType):
        return _of_struct(kind)
    if isinstance(kind, inspect.TupleType):
        return [_blank(each) for each in kind.item_types]
    return next((blank for each, blank in _CONSTANTS if isinstance(kind, each)), None)


def _of_struct(kind: inspect.StructType) -> Any:
    needed = [field for field in kind.fields if field.required or kind.array_like]
    if kind.array_like:
        return [_blank(field.type) for field in needed]
    made = {field.encode_name: _blank(field.type) for field in needed}
    if kind.tag_field is not None:
        made[kind.tag_field] = kind.tag
    return made
