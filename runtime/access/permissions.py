"""What one client may do: the one place that decides it, for clients, workers and plugins alike."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence

from cortex.bus import OWNER, VERBS, Access, Filter, Pair, root_of

from .patterns import GatePatterns

PUBLISH, SUBSCRIBE, READ, WORK, APPROVE = VERBS
# These events decide who may do what, or say what became of an execution and of the log, which
# process is compiled and what a prompt holds, and what a gate is asked: only the runtime and its
# owner say them, whatever "*" was granted.
GUARDED = Filter.of(
    (
        *("grant.*", "client.*", "plugin.*"),  # a plugin is loaded with grants
        *("log.*", "trust.*", "gate.evaluate"),
        "learning.*",  # what processes are made from
        *(f"execution.{fact}" for fact in ("started", "paused", "resumed", "halted", "charged")),
        *(f"execution.{end}" for end in ("completed", "failed", "cancelled")),
        *("execution.refused", "execution.ignored", "execution.edited"),
        *("execution.breakpoints_changed", "subject.*"),
        *(f"process.{fact}" for fact in ("compiled", "rejected", "retired", "unlinked")),
        *("process.unchanged", "trigger.matched", "trigger.unmatched"),
        *("trigger.wake", "execution.deferred", "component.retry", "component.drop"),
        *("context.compiled", "context.refused", "knowledge.requested", "effect.settled"),
        *(f"memory.{fact}" for fact in ("recorded", "corrected", "linked", "superseded")),
        *(f"memory.{fact}" for fact in ("pinned", "unpinned", "forgotten", "restored")),
        *(f"memory.{fact}" for fact in ("collected", "consolidated", "undone", "refused")),
        *("memory.requested", "memory.recurred", "gc.collected"),
        *("package.compiled", "package.suggested", "package.refused"),
        *(f"directive.{fact}" for fact in ("applied", "refused", "clarification_asked", "passed")),
        *(f"directive.{fact}" for fact in ("undone", "redone", "branched", "merged")),
        *("directive.conflicted", "directive.pinned"),
        *("context.edited", "step.settled"),
        *("step.proposed", "step.delegated", "step.reopened", "step.skipped"),
        "step.inherited",
        *("step.fanned", "step.item_changed"),
        *("tool.enabled", "tool.unclaimed"),
    )
)
# Whoever says one of these has a program run, a file written or a model paid, without a process,
# its gates or a person in between; or decides in a person's place what a model is asked, and what a
# step gave. So no pattern includes them: a grant names the very topic.
NAMED_ALONE = frozenset(
    (
        *("step.execute", "step.propose", "tool.call", "model.invoke"),
        *("context.compile", "knowledge.request", "memory.request"),
        *("context.edit", "step.settle"),
        # What a person laid down, which no model, tool or document may change.
        *(f"directive.{request}" for request in ("submit", "undo", "redo", "branch", "merge")),
        "directive.pin",
    )
)


class Permissions:
    """What one client may do; deny is the default.

    Args:
        client: Its name.
        allowed: By verb, the topics and patterns, each with a key or, for every key, None.
        gates: Patterns of the gates that it may answer in a person's place.
        names: First names of subscriptions and sources that are its own, beside the client's.
        workspaces: Folders in which it may ask for work; empty for any.
        own: Topics that it may publish about its own components, without a grant; whose an event
            is about is for the caller to check.
        everything: It may do everything, as the owner may.
    """

    __slots__ = ("_all", "_keyed", "_names", "_own", "_some", "_spelled", "something", "workspaces")

    def __init__(
        self,
        client: str,
        allowed: Mapping[str, Iterable[Pair]],
        *,
        gates: Iterable[str] = (),
        names: Iterable[str] = (),
        workspaces: tuple[str, ...] = (),
        own: Collection[str] = (),
        everything: bool = False,
    ) -> None:
        self._all, self._own = everything, own
        pairs = {verb: tuple(found) for verb, found in allowed.items()}
        self._some: dict[str, Filter | GatePatterns] = {
            verb: Filter.of(whole)
            for verb, found in pairs.items()
            if (whole := [topic for topic, key in found if key is None])
        }
        self._keyed: dict[str, tuple[tuple[Filter, str, str], ...]] = {
            verb: keyed
            for verb, found in pairs.items()
            if (keyed := tuple((Filter.of((t,)), t, key) for t, key in found if key is not None))
        }
        if answered := tuple(gates):
            self._some[APPROVE] = GatePatterns(answered)
        self._spelled = frozenset(topic for topic, key in pairs.get(PUBLISH, ()) if key is None)
        self._names = frozenset((client, *names))
        # Whether it may do anything.
        some = bool(self._some or self._keyed or own)
        self.something = everything or some or len(self._names) > 1
        self.workspaces = workspaces

    def allows(self, verb: str, topic: str) -> bool:
        """Whether it may *verb* events of *topic* with every key; for a gate, whether to answer it.

        Of a pattern, whether all of it.
        """
        return (verb == PUBLISH and topic in self._own) or self._whole(verb, topic)

    def keys(self, verb: str, topic: str) -> frozenset[str]:
        """The keys with which it may *verb* events of *topic*, if not with every key."""
        found = self._keyed.get(verb)
        if found is None or (verb == PUBLISH and (topic == "*" or GUARDED.matches(topic))):
            return frozenset()
        alone = verb == PUBLISH and topic in NAMED_ALONE
        return frozenset(
            key
            for covers, pattern, key in found
            if (pattern == topic if alone else covers.matches(topic))
        )

    def _whole(self, verb: str, topic: str) -> bool:
        found = self._some.get(verb)
        if found is None or (verb == PUBLISH and self._is_guarded(topic)):
            return self._all
        return found.matches(topic)

    def allows_key(self, verb: str, topic: str, key: str | None) -> bool:
        """Whether it may *verb* events of *topic* with this very *key*; None for every key."""
        return self._whole(verb, topic) or key in self.keys(verb, topic)

    def allows_some(self, verb: str) -> bool:
        """Whether it may *verb* anything at all."""
        return self._all or verb in self._some or verb in self._keyed

    def holds(self, name: str) -> bool:
        """Whether a subscription or a source called *name*, or a part of one, is its own."""
        return self._all or root_of(name) in self._names

    def _is_guarded(self, topic: str) -> bool:
        if topic == "*" or GUARDED.matches(topic):
            return True
        return topic in NAMED_ALONE and topic not in self._spelled


EVERYTHING = Permissions(OWNER, {}, everything=True)


class Authorizer(Access):
    """An access that answers every question about rights from the permissions of the client."""

    @abstractmethod
    def permissions_of(self, client: str) -> Permissions | None:
        """What *client*, or the client that it is a part of, may do; None if it is not admitted."""

    def allows(self, client: str, verb: str, topic: str) -> bool:
        """Whether *client* may *verb* events of *topic*; of a pattern, whether all of it."""
        found = self.permissions_of(client)
        return found is not None and found.allows(verb, topic)

    def keys(self, client: str, verb: str, topic: str) -> frozenset[str]:
        """The keys with which *client* may *verb* events of *topic*, if not with every key."""
        found = self.permissions_of(client)
        return frozenset() if found is None else found.keys(verb, topic)

    def allows_some(self, client: str, verb: str) -> bool:
        """Whether *client* may *verb* events of any topic at all."""
        found = self.permissions_of(client)
        return found is not None and found.allows_some(verb)

    def granted(self, client: str) -> bool:
        """Whether *client* was granted anything, a name to publish under included."""
        found = self.permissions_of(client)
        return found is not None and found.something

    def holds(self, client: str, subscription: str) -> bool:
        """Whether *subscription* is the client's to use, as a subscription or as a source."""
        found = self.permissions_of(client)
        return found is not None and found.holds(subscription)

    def folders(self, client: str) -> Sequence[str]:
        """The folders in which *client* may ask for work; none where it may in any."""
        found = self.permissions_of(client)
        return found.workspaces if found is not None else ()

    def standing(self, client: str) -> bool:
        """Whether *client* is still admitted."""
        return self.permissions_of(client) is not None
