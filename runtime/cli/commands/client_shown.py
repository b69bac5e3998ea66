"""A client as commands show it: what it is granted, and until when."""

import datetime as dt
import os
import time
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import VERBS
from cortex.bus.events import GrantGiven
from cortex.runtime.access import Certificate, Terms
from cortex.runtime.kernel import iso, local
from cortex.runtime.serving import HeldDocument

from ..screen import Screen

HEADERS = (
    *("client", "publish", "subscribe", "read", "work", "approve", "names"),
    *("works in", "until"),
)
SAID = ("names", "workspaces", "certificate", "limits")  # of a grant, beside its verbs
NEVER = "never"
SHOWN_ONCE = "this token is shown once, and kept nowhere:"


class ClientDocument(msgspec.Struct, kw_only=True):
    """A client and what it is granted."""

    client: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    read: tuple[str, ...]
    work: tuple[str, ...]
    approve: tuple[str, ...]
    names: tuple[str, ...]
    workspaces: tuple[str, ...]  # folders in which it may ask for work; empty for any
    expires: str | None  # UTC; null for never
    expired: bool
    certificate: str  # SHA-256 of the one it must show; empty for none
    limits: dict[str, int]  # by key of [limits] in config.toml, where they are its own


class ShownDocument(ClientDocument, kw_only=True):
    """A client, what it is granted, and what it has at the hub."""

    holds: HeldDocument


class AddedDocument(ClientDocument, kw_only=True):
    """A client that was added."""

    token: str | None  # null where it was written to a file
    token_file: str | None
    certificate_file: str | None


def document_of_client(given: GrantGiven) -> ClientDocument:
    """What is shown of a client with this grant."""
    return ClientDocument(client=given.client, **_fields(given))


def show_added(
    screen: Screen,
    name: str,
    terms: Terms,
    token: str,
    path: Path | None,
    made: Certificate | None,
) -> None:
    """Show a client that was added, and where its token and certificate are."""
    screen.document(
        AddedDocument(
            client=name,
            token=None if path else token,
            token_file=os.fspath(path) if path else None,
            certificate_file=made.path if made else None,
            **_fields(terms),
        )
    )
    if not any(getattr(terms, verb) for verb in VERBS):
        more = f"`cortex client grant {name} --publish ...`"
        screen.note(f"{name} may come in and do nothing: {more}", "yellow")
    if made is not None:
        screen.note(f"its certificate, with the key, is in {made.path}")
    if path is not None:
        screen.note(f"its token is in {path}")
        return
    screen.note(SHOWN_ONCE)
    screen.line(token)


def show_client(screen: Screen, document: ClientDocument) -> None:
    """Show what a client is granted."""
    screen.document(document)
    screen.line(document.client, "bold")
    for name in (*VERBS, "names"):
        screen.line(f"  {name:<10} {' '.join(getattr(document, name)) or '-'}")
    if document.workspaces:
        screen.line(f"  {'works in':<10} {' '.join(document.workspaces)}")
    screen.line(f"  {'until':<10} {_until(document)}")
    if document.limits:
        own = " ".join(f"{key}={number}" for key, number in sorted(document.limits.items()))
        screen.line(f"  {'limits':<10} {own}")
    if document.certificate:
        screen.line(f"  {'shows':<10} the certificate {document.certificate}")


def cells_of_client(document: ClientDocument) -> tuple[str, ...]:
    """The row of a client in a table, as `HEADERS` names its columns."""
    lists = (" ".join(getattr(document, name)) or "-" for name in (*VERBS, "names"))
    return (document.client, *lists, " ".join(document.workspaces) or "any", _until(document))


def _fields(given: GrantGiven | Terms) -> dict[str, Any]:
    return {
        **{name: getattr(given, name) for name in (*VERBS, *SAID)},
        "expires": iso(given.expires_ns) if given.expires_ns else None,
        "expired": 0 < given.expires_ns <= time.time_ns(),
    }


def _until(document: ClientDocument) -> str:
    if document.expires is None:
        return NEVER
    when = dt.datetime.fromisoformat(document.expires)
    shown = f"{local(int(when.timestamp()) * 1_000_000_000)} {when.astimezone():%Z}"
    return f"{shown} (over)" if document.expired else shown
