"""What every process of Cortex's own does first: it shuts itself to its neighbours.

The programs that Cortex starts run as the same user. Linux lets each of them read the environment
and the memory of any process of that user, keys included, unless the process says that it must not
be dumped. It has to say so again after each `exec`, and between the two there is a moment: so
what is secret goes to a child through a pipe, never by the environment that it is started with.
"""

import os
import sys
from collections.abc import Mapping
from typing import IO

from .environment import SEARCHED, absolute

DEBUGGABLE = "CORTEX_DEBUGGABLE"  # "1": debuggers and profilers may attach, and so may others
_PR_SET_DUMPABLE = 4  # of linux/prctl.h
_NUMBER_BYTES = 8


def enter_process(source: IO[bytes] | None = None) -> None:
    """Begin a process of Cortex's own: close it, and take the environment that *source* holds.

    For processes that are Cortex's from their start. A program that uses Cortex as a library is not
    changed; it may call `close_process` itself.
    """
    close_process()  # before anything secret is in here
    if source is not None:
        os.environ.update(_taken(source))
    # A program is looked for by name where these say, and never in the folder one stands in.
    for name in SEARCHED & os.environ.keys():
        os.environ[name] = absolute(os.environ[name])


def close_process() -> bool:
    """Keep others of the same user from reading this process; whether that could be done.

    Its `/proc` entries then belong to root, no debugger attaches and it leaves no core. What
    `CORTEX_DEBUGGABLE=1` is set for stays as it is. Only Linux has it.
    """
    if sys.platform != "linux" or os.environ.get(DEBUGGABLE) == "1":
        return False
    import ctypes  # here: building a command line does not need it

    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (OSError, AttributeError):  # a C library that does not have it
        return False


def given(environment: Mapping[str, str]) -> bytes:
    """*environment* as `enter_process` reads it; sent through a private pipe."""
    # Not a format of ours: the process that reads this has imported nothing yet.
    fields = [field for pair in environment.items() for field in pair]
    data = b"\0".join(os.fsencode(field) for field in fields)
    return len(data).to_bytes(_NUMBER_BYTES, "big") + data


def _taken(source: IO[bytes]) -> dict[str, str]:
    data = _read(source, int.from_bytes(_read(source, _NUMBER_BYTES), "big"))
    fields = [os.fsdecode(field) for field in data.split(b"\0")] if data else []
    return dict(zip(fields[::2], fields[1::2], strict=True))


def _read(source: IO[bytes], size: int) -> bytes:
    """So many bytes, in as many reads as that takes; fewer where *source* ends before."""
    data = b""
    while len(data) < size and (more := source.read(size - len(data))):
        data += more
    return data
