"""Giving, changing and taking back grants, through any client that may."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from cortex.bus import VERBS, Client, ConflictError, TopicUnknownError
from cortex.bus.events import GrantGiven, GrantRevoked
from cortex.runtime.secrets import redacted

from .errors import GrantInvalidError, NoSuchClientError
from .grants import GRANTS, Grant, Grants, checked, checked_name, grants_in
from .patterns import pair_of
from .permissions import APPROVE
from .tokens import digest_of, new_token

TOPICS = tuple(verb for verb in VERBS if verb != APPROVE)  # verbs that are granted by topic
TRIES = 8  # somebody else may give a grant at the same moment

Result = TypeVar("Result")


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a client is granted; see `GrantGiven` for what the fields hold."""

    publish: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    work: tuple[str, ...] = ()
    approve: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()
    limits: dict[str, int] = {}
    expires_ns: int = 0
    certificate: str = ""

    @classmethod
    def of(cls, given: GrantGiven) -> "Terms":
        """The terms of a grant that was given."""
        return cls(**{name: getattr(given, name) for name in cls.__struct_fields__})


def grants_of(client: Client) -> Grants:
    """What is granted on the hub that *client* speaks to."""
    return grants_in(client.read_stream(GRANTS), client.vocabulary)


def issue(client: Client, name: str, terms: Terms) -> str:
    """Grant a new client access; return its token, which is stored nowhere.

    Raises:
        GrantInvalidError: The terms cannot be given, or there is a client of that name.
        NotGrantedError: *client* may not give grants.
    """
    token = new_token()
    given = _checked(client, _given(name, digest_of(token), terms))

    def give(grants: Grants) -> str:
        if grants.grant(name) is not None:
            raise GrantInvalidError(
                "client", name, f"is there already: `cortex client grant {name}` changes it"
            )
        client.publish(given, expected_version=grants.version)
        return token

    return _trying(client, give)


def change(client: Client, name: str, changed: Callable[[Terms], Terms]) -> GrantGiven:
    """Give a client other terms; its token stays. They hold at once, where it is connected too.

    Raises:
        NoSuchClientError: There is no client of that name.
        GrantInvalidError: The terms cannot be given.
        NotGrantedError: *client* may not give grants.
    """

    def give(grants: Grants) -> GrantGiven:
        before = found(grants, name).given
        asked = _given(name, before.token_sha256, changed(Terms.of(before)))
        given = _checked(client, asked, before)
        client.publish(given, expected_version=grants.version)
        return given

    return _trying(client, give)


def revoke(client: Client, name: str, reason: str = "", *, keeps: Sequence[str] = ()) -> None:
    """Take a client's grant back; where it is connected, it is cut off.

    What it left at the hub goes in the same transaction: deadlines, subscriptions with the work
    that waits in them, what it announced. *keeps* names what stays for its next admission.

    Raises:
        NoSuchClientError: There is no client of that name.
        NotGrantedError: *client* may not take grants back.
    """

    def take(grants: Grants) -> None:
        found(grants, name)
        client.publish(
            GrantRevoked(client=name, reason=redacted(reason), keeps=tuple(keeps)),
            expected_version=grants.version,
        )

    _trying(client, take)


def found(grants: Grants, name: str) -> Grant:
    """The grant of the client *name*.

    Raises:
        NoSuchClientError: There is no such client.
    """
    grant = grants.grant(name) if "/" not in name else None
    if grant is None:
        if grants.was_revoked(name):
            raise NoSuchClientError(name, "it was revoked, `cortex client add` authorises it again")
        names = _listed(each.given.client for each in grants.clients())
        raise NoSuchClientError(name, f"there are {names}" if names else "none was added yet")
    return grant


def _given(name: str, token_sha256: str, terms: Terms) -> GrantGiven:
    fields = {field: getattr(terms, field) for field in terms.__struct_fields__}
    return GrantGiven(client=checked_name(name), token_sha256=token_sha256, **fields)


def _checked(client: Client, given: GrantGiven, before: GrantGiven | None = None) -> GrantGiven:
    """*given* in order; what it has in common with *before* may be of a topic that was."""
    given = checked(given)
    for verb in TOPICS:
        for pattern in getattr(given, verb):
            if before is None or pattern not in getattr(before, verb):
                _check_topic(client, f"--{verb}", pattern)
    return given


def _check_topic(client: Client, what: str, pattern: str) -> None:
    topic, key = pair_of(pattern)
    try:
        client.vocabulary.check_pattern(topic)
    except TopicUnknownError as error:
        raise GrantInvalidError(what, pattern, str(error)) from None
    if key is not None and not client.vocabulary.has_keys(topic):
        problem = f"events of {topic} have no key: grant it without '=', or leave it out"
        raise GrantInvalidError(what, pattern, problem)


def _trying(client: Client, act: Callable[[Grants], Result]) -> Result:
    for left in range(TRIES - 1, -1, -1):
        try:
            return act(grants_of(client))
        except ConflictError:
            if not left:
                raise
    raise AssertionError("unreachable")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:10])
