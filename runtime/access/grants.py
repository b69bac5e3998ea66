"""Who may connect and what they may do: a pure fold over `grant.given` and `grant.revoked`."""

import difflib
import os.path
import re
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path

import msgspec

from cortex.bus import (
    DEADLINES,
    RESERVED,
    VERBS,
    Event,
    Limits,
    Log,
    Recorded,
    Vocabulary,
    decode,
    root_of,
)
from cortex.bus.events import GrantGiven, GrantRevoked

from .errors import GrantInvalidError
from .patterns import checked_gates, checked_patterns, pair_of
from .permissions import APPROVE, GUARDED, PUBLISH, Permissions

GRANTS = "grants"
READ_PAGE = 256
LONGEST_NAME = 64
LONGEST_FOLDER = 4_096
ANYWHERE = "*"  # among folders: no bound any more

_NAME = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)*")
_HELD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_SCOPE = re.compile(r"\*|user|(?:project|process|execution):[^\x00-\x1f\x7f]{1,200}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Outcome(Enum):
    """The result of checking a token: the admitted client, or why there is none."""

    ADMITTED = "admitted"
    UNKNOWN = "unknown token"
    REVOKED = "its grant was revoked"
    EXPIRED = "its grant has expired"
    OTHER = "its token belongs to another client"


class Grant(msgspec.Struct, frozen=True):
    """What one client may do."""

    given: GrantGiven
    permissions: Permissions

    @classmethod
    def of(cls, given: GrantGiven) -> "Grant":
        """The grant that *given* gives."""
        topics = {
            verb: [pair_of(pattern) for pattern in getattr(given, verb)]
            for verb in VERBS
            if verb != APPROVE
        }
        permissions = Permissions(
            given.client,
            topics,
            gates=given.approve,
            names=given.names,
            workspaces=given.workspaces,
        )
        return cls(given, permissions)

    def expired(self, now_ns: int) -> bool:
        """Whether its time is over."""
        return 0 < self.given.expires_ns <= now_ns


class Grants:
    """What is granted after the events that were taken in; deny is the default."""

    def __init__(self) -> None:
        self.version = 0  # of the stream, as of the newest event taken in
        self._grants: dict[str, Grant] = {}
        self._by_token: dict[str, str] = {}
        self._gone: dict[str, str] = {}  # tokens that were good once, and whose
        self._revoked: set[str] = set()  # clients
        self._kept: dict[str, tuple[str, ...]] = {}  # what stays of them until they come back
        self._resting: dict[str, Grant] = {}  # of those, by which deadlines go off that they left
        self._hosts: dict[str, str] = {}  # by component, the client that hosts it

    def take(self, event: Event) -> str:
        """Take in an event; the client whose grant changed comes back, "" for none."""
        if isinstance(event, GrantGiven):
            self._forget_token(event.client)
            self._grants[event.client] = Grant.of(event)
            self._by_token[event.token_sha256] = event.client
            self._hosts.update(dict.fromkeys(event.names, event.client))
            self._gone.pop(event.token_sha256, None)
            self._revoked.discard(event.client)
            self._resting.pop(event.client, None)
            self._kept.pop(event.client, None)
            return event.client
        if isinstance(event, GrantRevoked):
            self._forget_token(event.client)
            before = self._grants.pop(event.client, None)
            self._revoked.add(event.client)
            self._kept[event.client] = event.keeps
            if DEADLINES not in event.keeps:
                self._resting.pop(event.client, None)
            elif before is not None:
                self._resting[event.client] = before
            return event.client
        return ""

    def read(self, records: Iterable[Recorded], vocabulary: Vocabulary) -> list[str]:
        """Take in *records* of the stream, in order; the clients whose grants changed."""
        changed: list[str] = []
        for record in records:
            if record.topic in vocabulary and (client := self.take(vocabulary.read(record))):
                changed.append(client)  # an unknown topic is no grant
            self.version = record.version
        return changed

    def follow(self, log: Log, vocabulary: Vocabulary) -> list[str]:
        """Take in what *log* has of the stream since; the clients whose grants changed.

        Raises:
            LogError: The log cannot be read.
        """
        changed: list[str] = []
        while page := log.read_stream(GRANTS, self.version, READ_PAGE):
            changed += self.read(map(decode, page), vocabulary)
        return changed

    def grant(self, client: str) -> Grant | None:
        """The grant of *client*, or of the one whose part it is ("client/...")."""
        return self._grants.get(root_of(client))

    def holder(self, root: str) -> Grant | None:
        """The grant that a subscription or source of this first name is counted for.

        The client's own; else that of a client which hosts the component of that name.
        """
        grant = self._grants.get(root)
        return grant if grant is not None else self._grants.get(self._hosts.get(root, ""))

    def was_revoked(self, client: str) -> bool:
        """Whether there is no grant of *client* any more."""
        return client in self._revoked

    def knows(self, client: str) -> bool:
        """Whether *client*, or the client that it is a part of, was ever admitted."""
        root = root_of(client)
        return root in self._grants or root in self._revoked

    def gone(self, client: str, now_ns: int) -> bool:
        """Whether *client* was admitted, and no longer is."""
        root = root_of(client)
        grant = self._grants.get(root)
        return grant.expired(now_ns) if grant is not None else root in self._revoked

    def kept(self, client: str) -> tuple[str, ...]:
        """What stays at the hub of one that was revoked."""
        return self._kept.get(root_of(client), ())

    def allows_left(
        self, client: str, verb: str, topic: str, now_ns: int, key: str | None = None
    ) -> bool:
        """Whether what *client* left at the hub may *verb* events of *topic* with *key*.

        By its grant, or by the one that it had and will have again.
        """
        grant = self.grant(client) or self._resting.get(root_of(client))
        if grant is None or grant.expired(now_ns):
            return False
        return grant.permissions.allows_key(verb, topic, key)

    def clients(self) -> list[Grant]:
        """Every grant in force or expired, by name."""
        return [self._grants[name] for name in sorted(self._grants)]

    def admit(self, token_sha256: str, name: str, now_ns: int) -> tuple[str, Outcome]:
        """The client whose token has this digest, and the outcome of its use under *name*.

        An empty name means the client's own.
        """
        client = self._by_token.get(token_sha256)
        if client is None:
            gone = self._gone.get(token_sha256, "")
            return gone, Outcome.REVOKED if gone else Outcome.UNKNOWN
        if name and root_of(name) != client:
            return client, Outcome.OTHER
        if self._grants[client].expired(now_ns):
            return client, Outcome.EXPIRED
        return client, Outcome.ADMITTED

    def permissions(self, client: str, now_ns: int) -> Permissions | None:
        """What *client* may do; None if it has no grant, or its grant has expired."""
        grant = self._grants.get(root_of(client))
        return None if grant is None or grant.expired(now_ns) else grant.permissions

    def allows(self, client: str, verb: str, topic: str, now_ns: int) -> bool:
        """Whether *client* may *verb* events of *topic*."""
        found = self.permissions(client, now_ns)
        return found is not None and found.allows(verb, topic)

    def holds(self, client: str, name: str) -> bool:
        """Whether a subscription or a source called *name* is the client's, admitted or not."""
        grant = self.grant(client)
        return root_of(name) == root_of(client) or (
            grant is not None and grant.permissions.holds(name)
        )

    def _forget_token(self, client: str) -> None:
        before = self._grants.get(client)
        if before is not None:
            self._hosts = {name: host for name, host in self._hosts.items() if host != client}
            self._by_token.pop(before.given.token_sha256, None)
            self._gone[before.given.token_sha256] = client


def checked(given: GrantGiven) -> GrantGiven:
    """*given* with its patterns in order.

    Raises:
        GrantInvalidError: A pattern is invalid; the message says what to write instead.
    """
    checked_name(given.client)
    _check_proofs(given)
    _check_limits(given.limits)
    _check_places(given)
    anywhere = ANYWHERE in given.workspaces
    folders = () if anywhere else tuple(sorted(set(map(os.path.normpath, given.workspaces))))
    patterns: dict[str, tuple[str, ...]] = {
        verb: (checked_gates if verb == APPROVE else checked_patterns)(
            f"--{verb}", getattr(given, verb)
        )
        for verb in VERBS
    }
    for pattern in patterns[PUBLISH]:
        if pattern != "*" and GUARDED.matches(pair_of(pattern)[0]):
            raise GrantInvalidError(
                "--publish",
                pattern,
                "only the runtime and its owner say it: leave it out, or use the owner's token",
            )
    names = tuple(sorted(set(given.names)))
    scopes = tuple(sorted(set(given.directives)))
    return msgspec.structs.replace(
        given, names=names, workspaces=folders, directives=scopes, **patterns
    )


def _check_proofs(given: GrantGiven) -> None:
    """Check by what names and proofs the client is known."""
    for name in given.names:
        if name in RESERVED or len(name) > LONGEST_NAME or not _HELD.fullmatch(name):
            raise GrantInvalidError("name", name[:LONGEST_NAME], "give a component's name")
    for what, digest in (("token", given.token_sha256), ("certificate", given.certificate)):
        if digest and not _DIGEST.fullmatch(digest):
            raise GrantInvalidError(what, digest[:8], "give a SHA-256 in 64 hex digits")


def _check_limits(limits: Mapping[str, int]) -> None:
    for key, number in limits.items():
        if key not in Limits.__struct_fields__:
            near = difflib.get_close_matches(key, Limits.__struct_fields__, n=1)
            hint = f"did you mean {near[0]}?" if near else ", ".join(Limits.__struct_fields__)
            raise GrantInvalidError("--limit", key[:LONGEST_NAME], f"no limit: {hint}")
        if not 0 <= number <= 1 << 50:
            raise GrantInvalidError("--limit", f"{key}={number}", "give 0, for no bound, or more")


def _check_places(given: GrantGiven) -> None:
    """Check the folders and the scopes of directives that the client may name."""
    for folder in given.workspaces:
        if folder != ANYWHERE and (len(folder) > LONGEST_FOLDER or not Path(folder).is_absolute()):
            raise GrantInvalidError("--workspace", folder[:LONGEST_NAME], "give an absolute path")
    for scope in given.directives:
        if not _SCOPE.fullmatch(scope):
            raise GrantInvalidError(
                "--directive",
                scope[:LONGEST_NAME],
                "give user, project:NAME, process:NAME, execution:ID, or '*' for all",
            )


def checked_name(name: str) -> str:
    """*name*, if a client may have it.

    Raises:
        GrantInvalidError: It may not.
    """
    if name in RESERVED:
        raise GrantInvalidError("client", name, "the name is the runtime's own: give another")
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise GrantInvalidError(
            "client",
            name[:LONGEST_NAME],
            f"give small letters, digits, '-', '_' and '.', a letter first, {LONGEST_NAME} at most",
        )
    return name


def folded(events: Iterable[Event]) -> Grants:
    """The grants after *events*."""
    grants = Grants()
    for event in events:
        grants.take(event)
    return grants


def grants_in(records: Iterable[Recorded], vocabulary: Vocabulary) -> Grants:
    """The grants after *records*, which are the stream's from its beginning."""
    grants = Grants()
    grants.read(records, vocabulary)
    return grants
