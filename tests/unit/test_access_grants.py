"""Grants: a pure fold, deny by default; patterns, tokens, and how denials are counted."""

import stat
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import Filter
from cortex.bus.events import GrantGiven, GrantRevoked
from cortex.runtime.access import (
    GrantInvalidError,
    Grants,
    KeyFileError,
    digest_of,
    new_token,
    owner_token,
    read_token,
)

counting: Any = import_module("cortex.runtime.access.denials")
folding: Any = import_module("cortex.runtime.access.grants")
matching: Any = import_module("cortex.runtime.access.patterns")
KINDS = import_module("cortex.runtime.access.windows").KINDS
OTHERS, WINDOW_NS = counting.OTHERS, counting.WINDOW_NS
Denial, Denials = counting.Denial, counting.Denials
Outcome, checked, folded = folding.Outcome, folding.checked, folding.folded
checked_patterns = matching.checked_patterns

STEADY = settings(max_examples=60, deadline=None, derandomize=True)
DIGEST = digest_of("a")
PART = st.from_regex(r"[a-z]{1,3}", fullmatch=True)
TOPIC = st.lists(PART, min_size=2, max_size=3).map(".".join)


def alice(**terms: object) -> GrantGiven:
    return GrantGiven(client="alice", **{"token_sha256": DIGEST, **terms})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "topic", "fits"),
    [
        ("step.completed", "step.completed", True),
        ("step.completed", "step.failed", False),
        ("step.completed", "step.*", False),
        ("step.*", "step.completed", True),
        ("step.*", "step.*", True),
        ("step.*", "*", False),
        ("step.*", "steps.completed", False),
        ("step.*", "step", False),
        ("x.ticker.*", "x.ticker.ticked", True),
        ("x.ticker.*", "x.other.ticked", False),
        ("x.ticker.*", "x.*", False),
        ("x.*", "x.ticker.*", True),
        ("*", "anything.at_all", True),
        ("*", "*", True),
    ],
)
def test_a_pattern_fits_what_it_covers_whole(pattern: str, topic: str, fits: bool) -> None:
    assert Filter.of([pattern]).matches(topic) == fits


@STEADY
@given(st.lists(TOPIC | TOPIC.map(lambda t: f"{t}.*")), TOPIC)
def test_a_set_of_patterns_fits_what_one_of_them_does(patterns: list[str], topic: str) -> None:
    one_by_one = any(p == topic or (p[-1] == "*" and topic.startswith(p[:-1])) for p in patterns)

    assert Filter.of(patterns).matches(topic) == one_by_one
    assert not Filter(()).matches(topic)


@pytest.mark.parametrize("wrong", ["", "step.", ".step", "st*p", "*.step", "step.*.x", "a b", "**"])
def test_what_is_no_pattern_is_refused_and_named(wrong: str) -> None:
    with pytest.raises(GrantInvalidError, match="--publish"):
        checked_patterns("--publish", [wrong])


def test_nothing_is_granted_that_was_not_said() -> None:
    grants = folded([alice(publish=("step.*",), read=("gate.evaluated",))])

    assert grants.allows("alice", "publish", "step.completed", 0)
    assert grants.allows("alice/part", "read", "gate.evaluated", 0)
    for client, verb, topic in (
        ("alice", "subscribe", "step.completed"),
        ("alice", "work", "step.execute"),
        ("alice", "publish", "gate.evaluated"),
        ("alice", "hold", "step.completed"),
        ("bob", "publish", "step.completed"),
        ("alicia", "publish", "step.completed"),
        ("", "publish", "step.completed"),
    ):
        assert not grants.allows(client, verb, topic, 0), (client, verb, topic)


def test_no_client_publishes_grants_whatever_it_was_granted() -> None:
    grants = folded([alice(publish=("*",))])

    assert grants.allows("alice", "publish", "step.completed", 0)
    assert not grants.allows("alice", "publish", "grant.given", 0)
    assert not grants.allows("alice", "publish", "client.denied", 0)
    for topic in (
        "plugin.load",
        "context.compiled",
        "context.edited",
        "execution.breakpoints_changed",
        "step.settled",
        "log.tail_lost",
        "subject.erased",
        "learning.action_observed",
    ):
        assert not grants.allows("alice", "publish", topic, 0)
    assert not grants.allows("alice", "publish", "*", 0)
    for named in ("grant.given", "learning.action_observed", "learning.*"):
        with pytest.raises(GrantInvalidError, match="only the runtime and its owner"):
            checked(alice(publish=(named,)))


@pytest.mark.parametrize(
    "topic",
    [
        *("step.execute", "tool.call", "model.invoke", "context.compile", "knowledge.request"),
        *("context.edit", "step.settle"),
    ],
)
def test_to_ask_for_work_past_every_process_takes_a_grant_that_names_it(topic: str) -> None:
    family = f"{topic.partition('.')[0]}.*"

    for granted in ((family,), ("*",), (family, "*")):
        assert not folded([alice(publish=granted)]).allows("alice", "publish", topic, 0)
    assert folded([alice(publish=(topic,))]).allows("alice", "publish", topic, 0)
    assert checked(alice(publish=(topic,))).publish == (topic,)


def test_a_grant_of_a_key_is_for_that_key_alone() -> None:
    told = alice(publish=("memory.record=project:a", "gate.*"), read=("memory.*=project:a",))
    (grant,) = folded([told]).clients()
    may = grant.permissions

    assert may.keys("publish", "memory.record") == {"project:a"}
    assert may.keys("read", "memory.find") == may.keys("read", "memory.*") == {"project:a"}
    assert may.allows("publish", "gate.evaluated")
    for verb, topic in (("publish", "memory.record"), ("read", "memory.find"), ("read", "*")):
        assert not may.allows(verb, topic)
    for key in (None, "", "project:ab", "user"):
        assert not may.allows_key("publish", "memory.record", key)
    assert may.allows_key("publish", "memory.record", "project:a")
    assert may.allows_some("read")
    assert not may.keys("publish", "memory.link")
    assert not may.keys("subscribe", "memory.recorded")


def test_a_grant_of_a_key_opens_nothing_that_is_guarded_or_named_alone() -> None:
    told = alice(publish=("step.*=shell", "step.*", "step.execute=one", "*"))
    (grant,) = folded([told]).clients()

    assert grant.permissions.keys("publish", "step.execute") == {"one"}
    assert not grant.permissions.allows("publish", "step.execute")
    assert not grant.permissions.allows_key("publish", "step.execute", "shell")
    assert (
        not folded([alice(publish=("grant.*=x",))])
        .clients()[0]
        .permissions.keys("publish", "grant.given")
    )
    with pytest.raises(GrantInvalidError, match="only the runtime and its owner"):
        checked(alice(publish=("memory.recorded=project:a",)))


@pytest.mark.parametrize(
    "wrong", ["*=user", "memory.record=", "memory.record= a", "memory.record=a\n", "=a", "a b=c"]
)
def test_what_is_no_key_is_refused_in_one_line(wrong: str) -> None:
    with pytest.raises(GrantInvalidError, match="--publish") as refused:
        checked(alice(publish=(wrong,)))

    assert "\n" not in str(refused.value).replace(wrong, "")


def test_a_new_grant_replaces_the_old_one_and_its_token() -> None:
    other = digest_of("b")
    grants = folded([alice(publish=("step.*",)), alice(token_sha256=other, read=("*",))])

    assert not grants.allows("alice", "publish", "step.completed", 0)
    assert grants.admit(DIGEST, "alice", 0) == ("alice", Outcome.REVOKED)
    assert grants.admit(other, "", 0) == ("alice", Outcome.ADMITTED)


def test_why_a_token_is_refused_is_told_apart() -> None:
    grants = folded([alice(expires_ns=100), GrantGiven(client="bob", token_sha256=digest_of("b"))])

    assert grants.admit(DIGEST, "alice/feed", 99) == ("alice", Outcome.ADMITTED)
    assert grants.admit(DIGEST, "alice", 100) == ("alice", Outcome.EXPIRED)
    assert grants.admit(DIGEST, "bob", 0) == ("alice", Outcome.OTHER)
    assert grants.admit(DIGEST, "alice2", 0) == ("alice", Outcome.OTHER)
    assert grants.admit(digest_of("c"), "alice", 0) == ("", Outcome.UNKNOWN)
    grants.take(GrantRevoked(client="alice"))
    assert grants.admit(DIGEST, "alice", 0) == ("alice", Outcome.REVOKED)


def test_an_expired_grant_allows_nothing() -> None:
    grants = folded([alice(publish=("*",), expires_ns=100)])

    assert grants.allows("alice", "publish", "step.completed", 99)
    assert not grants.allows("alice", "publish", "step.completed", 100)


def test_a_client_holds_its_own_names_and_those_it_was_granted() -> None:
    granted = folded([alice(names=("Doer",))]).permissions("alice/worker", 0)

    assert granted is not None
    for name in ("alice", "alice/feed/1", "Doer", "Doer/1"):
        assert granted.holds(name), name
    for name in ("alicia", "bob", "ProcessManager", "Doers", "hub"):
        assert not granted.holds(name), name


@pytest.mark.parametrize("name", ["owner", "hub", "runtime", "", "Alice", "a/b", "a" * 65, "a b"])
def test_names_that_no_client_may_have(name: str) -> None:
    with pytest.raises(GrantInvalidError):
        checked(GrantGiven(client=name, token_sha256=DIGEST))


EVENTS = st.one_of(
    st.builds(
        GrantGiven,
        client=st.sampled_from(["alice", "bob"]),
        token_sha256=st.sampled_from([digest_of(t) for t in "abc"]),
        publish=st.lists(TOPIC, max_size=2).map(tuple),
    ),
    st.builds(GrantRevoked, client=st.sampled_from(["alice", "bob"])),
)


@STEADY
@given(st.lists(EVENTS, max_size=12))
def test_what_holds_is_what_was_said_last(events: list[GrantGiven | GrantRevoked]) -> None:
    grants = folded(events)

    for client in ("alice", "bob"):
        said = [e for e in events if e.client == client]
        last = said[-1] if said else None
        grant = grants.grant(client)
        assert (grant.given if grant else None) == (last if isinstance(last, GrantGiven) else None)


def test_a_token_is_random_and_only_its_digest_is_kept() -> None:
    tokens = {new_token() for _ in range(100)}

    assert len(tokens) == 100
    assert all(t.startswith("cortex_") and len(t) == 50 for t in tokens)
    assert all(t not in digest_of(t) for t in tokens)


def test_the_owners_token_is_made_once_and_is_private(tmp_path: Path) -> None:
    keys = tmp_path / "keys"

    first, second = owner_token(keys), owner_token(keys)

    assert first == second
    assert [p.name for p in keys.iterdir()] == ["owner.token"]
    assert stat.S_IMODE((keys / "owner.token").stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700


def test_a_token_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    owner_token(tmp_path)
    path = tmp_path / "owner.token"
    path.chmod(0o644)

    with pytest.raises(KeyFileError, match="chmod 600"):
        owner_token(tmp_path)


@pytest.mark.parametrize("text", ["", "hello", "cortex_short", "cortex_" + "a" * 60])
def test_a_file_that_holds_no_token_is_refused_without_showing_it(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "some.token"
    path.write_text(text)
    path.chmod(0o600)

    with pytest.raises(KeyFileError, match="holds no token") as refused:
        read_token(path)

    assert not text or text not in str(refused.value)


def test_the_first_denial_is_told_at_once_and_a_million_more_once_a_second() -> None:
    denials, denial = Denials(), Denial("alice", "publish", "gate.evaluated", "not granted")
    told = [t for each in range(2_000) if (t := denials.note(denial, each * WINDOW_NS // 1_000))]
    told += denials.due(WINDOW_NS)

    assert [t.times for t in told] == [1, 1_999]
    assert denials.due(WINDOW_NS) == []


def test_every_denial_is_counted_once() -> None:
    denials = Denials()
    told = []
    for each in range(5_000):
        about = f"x.flood.topic{each % 100}"
        found = denials.note(Denial("alice", "publish", about, "not granted"), each * 1_000_000)
        told += [found] if found else []
        told += denials.due(each * 1_000_000)
    told += denials.rest()

    assert sum(t.times for t in told) == 5_000
    assert len({t.denial.about for t in told}) <= KINDS + 1
    assert any(t.denial.reason == OTHERS for t in told)
    assert denials.next_ns() is None


def test_one_clients_flood_does_not_hide_anothers_denial() -> None:
    denials = Denials()
    for each in range(100):
        denials.note(Denial("alice", "publish", f"x.a.t{each}", "not granted"), 0)

    told = denials.note(Denial("bob", "read", "gate.evaluated", "not granted"), 0)

    assert told is not None
    assert told.denial.about == "gate.evaluated"


def test_a_kind_that_is_quiet_for_a_second_is_told_at_once_again() -> None:
    denials, denial = Denials(), Denial("alice", "publish", "gate.evaluated", "not granted")

    times = []
    for now_ns in (0, 2 * WINDOW_NS, 4 * WINDOW_NS):
        assert denials.due(now_ns) == []
        told = denials.note(denial, now_ns)
        times.append(told.times if told else 0)

    assert times == [1, 1, 1]
    assert all(a < b for a, b in pairwise([0, denials.next_ns() or 0]))


def test_an_empty_fold_lets_nobody_in() -> None:
    assert Grants().admit(digest_of(""), "", 0) == ("", Outcome.UNKNOWN)
