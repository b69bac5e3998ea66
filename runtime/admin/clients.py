"""The clients of a home: who may connect to its bus, what they may do, and until when."""

import os
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from cortex.bus import SUBSCRIPTIONS, VERBS
from cortex.bus.events import GrantGiven
from cortex.runtime.access import (
    GRANTS,
    TOPICS,
    Grants,
    Terms,
    change,
    client_certificate,
    found,
    grants_in,
    grants_of,
    issue,
    pair_of,
    revoke,
    token_file,
)
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, iso, parse_end
from cortex.runtime.memory import MemoryInvalidError, check_scope
from cortex.runtime.processes.catalog import gates_of, wrong_gate
from cortex.runtime.serving import HeldDocument, granting, held_by
from cortex.runtime.sessions import ArgumentError, gates_of_sources

NEVER = "never"
SAID = (
    "names",
    "workspaces",
    "directives",
    "certificate",
    "limits",
)  # of a grant, beside its verbs
# Of a client whose rights are withdrawn: without its folders it could ask for work in any.
KEPT = ("expires_ns", "certificate", "limits", "workspaces")


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
    directives: tuple[str, ...]  # scopes in which it may lay down directives
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


class RevokedDocument(msgspec.Struct):
    """A client that was let out."""

    client: str
    reason: str
    removed: tuple[str, ...]  # subscriptions
    deadlines: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()  # what it had announced


class Wanted(msgspec.Struct):
    """What a client is to be allowed, beside what it may do already."""

    rights: Terms  # verbs, names and workspaces
    expires: str | None = None  # 12h, 30d, a date, or "never"
    limits: Mapping[str, int | None] = {}  # None: the one of config.toml again

    def added_to(self, before: Terms) -> Terms:
        """*before*, and this."""
        fields: dict[str, Any] = {
            name: tuple(dict.fromkeys((*getattr(before, name), *getattr(self.rights, name))))
            for name in (*VERBS, "names", "workspaces", "directives")
        }
        limits = {**before.limits, **self.limits}
        fields["limits"] = {key: number for key, number in limits.items() if number is not None}
        if self.expires is not None:
            ends = 0 if self.expires == NEVER else parse_end(self.expires, time.time_ns())
            fields["expires_ns"] = ends
        return replace(before, **fields)


def clients_of(home: Home) -> list[ClientDocument]:
    """The clients that may connect to the bus of *home*."""
    return [_document(grant.given) for grant in _grants(home).clients()]


def client_of(home: Home, name: str) -> ShownDocument:
    """One client with everything it has at the hub, all of which a revocation removes.

    Raises:
        NotFoundError: There is no client of that name.
    """
    given = found(_grants(home), name).given
    shown = msgspec.structs.asdict(_document(given))
    return ShownDocument(**shown, holds=held_by(home, name, given))


def add_client(
    home: Home, name: str, wanted: Wanted, path: Path | None, folder: Path | None
) -> AddedDocument:
    """Let a client in.

    Args:
        home: Made where it is missing.
        name: The client's.
        wanted: What it may do.
        path: Where its token is written; None returns it.
        folder: Where a TLS certificate for it is made; None makes none.

    Raises:
        ArgumentError: It is to approve what no process asks.
        AccessError: There is such a client, or something of *wanted* is not right.
    """
    _refuse_unknown_gates(home, wanted.rights.approve)
    _refuse_wrong_scopes(wanted.rights)
    made = None
    with granting(home) as owner, nullcontext(None) if path is None else token_file(path) as write:
        terms = wanted.added_to(Terms())
        if folder is not None and grants_of(owner).grant(name) is None:
            made = client_certificate(home.path / "keys", name, folder)
            terms = replace(terms, certificate=made.sha256)
        token = issue(owner, name, terms)
        if write is not None:
            write(token)
    return AddedDocument(
        client=name,
        token=None if path else token,
        token_file=os.fspath(path) if path else None,
        certificate_file=made.path if made else None,
        **_fields(terms),
    )


def grant_client(home: Home, name: str, wanted: Wanted, *, only: bool) -> ClientDocument:
    """Allow a client more; with *only*, what is wanted and nothing else.

    Raises:
        ArgumentError: It is to approve what no process asks.
        NotFoundError: There is no such client.
    """
    _refuse_unknown_gates(home, wanted.rights.approve)
    _refuse_wrong_scopes(wanted.rights)

    def terms_after(terms: Terms) -> Terms:
        bare = Terms(**{field: getattr(terms, field) for field in KEPT})
        return wanted.added_to(bare if only else terms)

    with granting(home) as owner:
        return _document(change(owner, name, terms_after))


def revoke_client(home: Home, name: str, reason: str, *, keep: bool) -> RevokedDocument:
    """Let a client out, and remove what it left; with *keep* its subscriptions stay.

    Raises:
        NotFoundError: There is no such client.
    """
    with granting(home) as owner:
        held = held_by(home, name)
        revoke(owner, name, reason, keeps=(SUBSCRIPTIONS,) if keep else ())
    return RevokedDocument(
        client=name,
        reason=reason,
        removed=() if keep else tuple(each.name for each in held.subscriptions),
        deadlines=tuple(each.name for each in held.deadlines),
        withdrawn=tuple(f"{each.kind} {each.name}" for each in held.announcements),
    )


def _refuse_unknown_gates(home: Home, patterns: tuple[str, ...]) -> None:
    """Refuse a grant to approve what no process asks."""
    if not patterns or not home.path.is_dir():
        return
    with History.open(home) as history:
        compiled = gates_of(history)
    problem = wrong_gate(compiled, patterns)
    if problem:  # there may be sources that were not compiled yet
        problem = wrong_gate({**compiled, **gates_of_sources(home)}, patterns)
    if problem:
        raise ArgumentError(problem, "--approve")


def _refuse_wrong_scopes(rights: Terms) -> None:
    """Refuse a grant of a scope of memory that no memory can have."""
    for verb in TOPICS:
        for pattern in getattr(rights, verb):
            topic, key = pair_of(pattern)
            if key is not None and topic.startswith("memory."):
                try:
                    check_scope(key)
                except MemoryInvalidError as error:
                    raise ArgumentError(str(error), f"--{verb}") from None


def _grants(home: Home) -> Grants:
    with History.open(home) as history:
        return grants_in(history.stream(GRANTS), history.vocabulary)


def _document(given: GrantGiven) -> ClientDocument:
    return ClientDocument(client=given.client, **_fields(given))


def _fields(given: GrantGiven | Terms) -> dict[str, Any]:
    return {
        **{name: getattr(given, name) for name in (*VERBS, *SAID)},
        "expires": iso(given.expires_ns) if given.expires_ns else None,
        "expired": 0 < given.expires_ns <= time.time_ns(),
    }
