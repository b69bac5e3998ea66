"""The folder in which requested work runs; a grant may limit it."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from .event import Draft
from .events.execution import ExecutionRequest
from .events.step import StepExecute
from .events.tool import ToolCall
from .events.trigger import TriggerReceived

# Of events that name a `workspace`, those that somebody else than the runtime may say.
PLACED = frozenset(
    each.topic_name() for each in (ExecutionRequest, StepExecute, ToolCall, TriggerReceived)
)


class _Placed(msgspec.Struct):
    workspace: str = ""


_READ = msgspec.msgpack.Decoder(_Placed).decode


def outside(draft: Draft, folders: Iterable[str]) -> str:
    """The folder in which *draft* asks for work, where it is in none of *folders*; "" where it is.

    What the folders really are on this machine decides: a link leads nowhere else.
    """
    if draft.topic not in PLACED:
        return ""
    try:
        workspace = _READ(draft.body).workspace
    except msgspec.DecodeError:
        return ""  # it is no such event, which the hub says
    return "" if not workspace or within(workspace, folders) else workspace


def within(folder: str, folders: Iterable[str]) -> bool:
    """Whether *folder*, an absolute path, is one of *folders* or in one of them."""
    if "\0" in folder or not Path(folder).is_absolute():
        return False
    found = os.path.realpath(folder)
    return any(
        found == root or found.startswith(root.rstrip("/") + "/")
        for root in map(os.path.realpath, folders)
    )
