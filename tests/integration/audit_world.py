"""Homes whose log is signed, for the tests of an audit."""

import shutil
from contextlib import closing
from pathlib import Path

from cortex.bus import Event
from cortex.runtime.access.trust import give_trust
from cortex.runtime.audit import Auditing
from cortex.runtime.kernel import Config, Home, Runtime
from cortex.runtime.log import EventLog

from .archive_world import seal


class Noted(Event, frozen=True, kw_only=True, tag="x.audit.noted"):
    number: int


def make_signed(
    folder: Path, keys: tuple[str, str], signed_at: tuple[int, ...], sealed: tuple[int, ...] = ()
) -> Path:
    """A home in *folder* with a key of each kind, whose head is signed after so many events.

    Segments of its archive end at *sealed*.
    """
    home = Home.create(folder / ".cortex")
    auditing = Auditing(home)
    auditing.new_key(keys[0])
    auditing.new_key(keys[1], "ml-dsa-44")
    with Runtime(home, components=[], config=Config()) as runtime:
        before = 0
        for count in signed_at:
            runtime.client("me").publish(*(Noted(number=n) for n in range(before, count)))
            before = count
            if count == signed_at[-1]:  # the last head is signed once nobody writes any more
                runtime.blobs.put(b"a large payload " * 100)
            else:
                auditing.sign()
    with closing(EventLog.open(home.log_path)) as log:
        for last in sealed:
            seal(log, last)
    auditing.sign()
    return home.path


def copy_of(signed: Path, folder: Path) -> Home:
    """The home *signed* once more, in *folder*, which the user trusts."""
    shutil.copytree(signed, folder / ".cortex")
    give_trust(folder / ".cortex", by="a test")
    return Home(folder / ".cortex")
