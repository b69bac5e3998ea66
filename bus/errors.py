"""What can go wrong on the bus, and the root of every error in Cortex.

CortexError
├── EventError               an event cannot be taken as it is
│   ├── EventInvalidError        its body does not fit its schema
│   ├── EventTooLargeError       its body is over the bound
│   ├── TopicUnknownError        its topic is not in the vocabulary
│   └── SchemaUnreadableError    no chain of upcasters reaches its schema
├── ConflictError            a stream moved on before the caller wrote to it
├── CursorError              a commit does not start where the cursor stands
├── LeaseLostError           another worker has the work, or it is finished
├── BegunError               an effect that may happen once began before, or is not wanted
├── TailLostError            the log lost events that the caller had seen
├── SubscriptionError        the subscription is unknown, or is of the other kind
├── AskTimeoutError          an answer did not come in time
├── UnansweredError          no component here answers this query
├── ClientDeniedError        the hub does not admit this client, or not any more
├── NotGrantedError          the client is admitted, and may not do this
├── WireError                a frame, a version or an address cannot be used
│   ├── FrameError               the other end does not keep to the protocol
│   ├── FrameTooLargeError       a frame is over the bound
│   ├── VersionError             client and hub have no protocol version in common
│   ├── HubUnverifiedError       another hub than the expected one listens there
│   └── UrlError                 the address cannot be used
├── LimitError               the client is at one of its limits
├── OutcomeUnknownError      a request was sent, and it is not known whether it was done
├── HubAwayError             the hub cannot be reached
├── HubClosedError           the hub was closed
├── HubFailedError           a defect in the hub: it failed while it answered
└── LogError                 the log cannot be used; its tree is in runtime/log/errors.py
    └── DiskFullError           the disk is full: free some space, then repeat
"""

import shlex


class CortexError(Exception):
    """Anything that Cortex raises on purpose."""

    exit_code: int = 1  # what the command line ends with when this reaches it


class EventError(CortexError, ValueError):
    """An event cannot be taken as it is."""


class EventInvalidError(EventError):
    """The body does not fit the schema of its topic."""

    def __init__(self, topic: str, problem: str) -> None:
        super().__init__(topic, problem)
        self.topic, self.problem = topic, problem

    def __str__(self) -> str:
        return f"{self.topic}: {self.problem}; nothing of this request was recorded"


class EventTooLargeError(EventError):
    """The body is over the bound; large payloads are blobs."""

    def __init__(self, topic: str, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(topic, size_bytes, limit_bytes)
        self.topic, self.size_bytes, self.limit_bytes = topic, size_bytes, limit_bytes

    def __str__(self) -> str:
        return (
            f"{self.topic} has a body of {self.size_bytes} bytes, over {self.limit_bytes}: "
            "put the payload into a blob and name its digest in the event"
        )


class TopicUnknownError(EventError):
    """The topic is neither in the vocabulary nor a plugin's own."""

    def __init__(self, topic: str, nearest: str | None = None) -> None:
        super().__init__(topic, nearest)
        self.topic, self.nearest = topic, nearest

    def __str__(self) -> str:
        hint = f"did you mean {self.nearest}?" if self.nearest else "a plugin's own start with x."
        return f"{self.topic} is not a topic of this bus: {hint}"


class SchemaUnreadableError(EventError):
    """An event was written with a schema that this version cannot lift to its own."""

    def __init__(self, topic: str, schema: int, newest: int, position: int) -> None:
        super().__init__(topic, schema, newest, position)
        self.topic, self.schema = topic, schema
        self.newest, self.position = newest, position

    def __str__(self) -> str:
        return (
            f"{self.topic} at position {self.position} has schema {self.schema} and this version "
            f"reads {self.newest}: upgrade Cortex, or register the missing upcaster"
        )


class ConflictError(CortexError):
    """The stream moved on before the caller wrote to it."""

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        super().__init__(stream, expected, actual)  # in args, so it pickles
        self.stream, self.expected, self.actual = stream, expected, actual

    def __str__(self) -> str:
        return (
            f"{self.stream} is at version {self.actual}, not {self.expected}: "
            "read it again, then retry"
        )


class CursorError(CortexError):
    """A commit does not start where the subscription's cursor stands."""

    def __init__(self, subscription: str, expected: int, actual: int) -> None:
        super().__init__(subscription, expected, actual)
        self.subscription, self.expected, self.actual = subscription, expected, actual

    def __str__(self) -> str:
        return (
            f"the cursor of {self.subscription} is at {self.actual}, not {self.expected}: "
            "another client committed; fetch again from the cursor"
        )


class LeaseLostError(CortexError):
    """The work was given to another worker after its lease, or is finished."""

    def __init__(self, subscription: str, position: int, epoch: int) -> None:
        super().__init__(subscription, position, epoch)
        self.subscription, self.position, self.epoch = subscription, position, epoch

    def __str__(self) -> str:
        return (
            f"epoch {self.epoch} of {self.subscription} at position {self.position} is over: "
            "drop this result, another worker has the event or it is finished"
        )


class BegunError(CortexError):
    """An effect that may happen once only cannot be begun."""

    def __init__(self, effect_key: str, why: str) -> None:
        super().__init__(effect_key, why)
        self.effect_key, self.why = effect_key, why  # "begun" before, or "unwanted"

    def __str__(self) -> str:
        if self.why == "begun":
            return f"effect {self.effect_key} began before: find out how it ended"
        return f"effect {self.effect_key} is no longer wanted: do not begin it"


class TailLostError(CortexError):
    """The log has lost its newest events, some of which the caller had seen.

    Up to *common* the caller and the log have the same events. Drop everything after it, then
    continue from there.
    """

    def __init__(self, seen: int, common: int) -> None:
        super().__init__(seen, common)
        self.seen, self.common = seen, common

    def __str__(self) -> str:
        return (
            f"the log has lost its events after position {self.common}, and this client has seen "
            f"{self.seen}: nothing of this request was recorded; drop everything after "
            f"{self.common} and continue from there"
        )


class SubscriptionError(CortexError):
    """The subscription is unknown, or is of the other kind."""

    def __init__(self, subscription: str, problem: str) -> None:
        super().__init__(subscription, problem)
        self.subscription, self.problem = subscription, problem

    def __str__(self) -> str:
        return f"subscription {self.subscription}: {self.problem}"


class AskTimeoutError(CortexError, TimeoutError):
    """An answer did not come in time; the component may still be working on it."""

    def __init__(self, topic: str, timeout_s: float) -> None:
        super().__init__(topic, timeout_s)
        self.topic, self.timeout_s = topic, timeout_s

    def __str__(self) -> str:
        return f"{self.topic} had no answer within {self.timeout_s:g} s: ask again or allow more"


class UnansweredError(CortexError):
    """No component on this bus answers the query."""

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.topic = topic

    def __str__(self) -> str:
        return f"no component answers {self.topic}: start one that does"


class ClientDeniedError(CortexError):
    """The hub does not admit this client, or not any more; trying again changes nothing."""

    def __init__(self, client: str, reason: str) -> None:
        super().__init__(client, reason)
        self.client, self.reason = client, reason

    def __str__(self) -> str:
        return f"the hub does not admit {self.client or 'this client'}: {self.reason}"


class NotGrantedError(CortexError):
    """The client is known to the hub, and may not do this."""

    def __init__(self, client: str, verb: str, topic: str) -> None:
        super().__init__(client, verb, topic)
        self.client, self.verb, self.topic = client, verb, topic

    def __str__(self) -> str:
        does = "have work done in" if self.verb == "workspace" else self.verb
        said = f"{self.client} may not {does} {self.topic}: to allow it, "
        root, topic = self.client.partition("/")[0], shlex.quote(self.topic)
        family, _, plugin = root.partition(".")
        if family == "plugin" and plugin and self.verb == "workspace":
            return f"{said}name the folder among the `workspaces` in [plugins.{plugin}]"
        if family == "plugin" and plugin:
            return (
                f"{said}load it again without --deny: `cortex plugin load {plugin}`; or with "
                f"--grant for every part it may have (`cortex plugin info {plugin}` lists those it "
                "requests; add a missing one to its manifest)"
            )
        option = "name" if self.verb == "hold" else self.verb
        return f"{said}the owner of the hub runs `cortex client grant {root} --{option} {topic}`"


class LimitError(CortexError):
    """The client is at one of its limits; nothing of the request was recorded."""

    def __init__(self, client: str, what: str, limit: int) -> None:
        super().__init__(client, what, limit)
        self.client, self.what, self.limit = client, what, limit  # what: a key of [limits]

    def __str__(self) -> str:
        root = self.client.partition("/")[0]
        remedy = "slow down" if self.what.endswith("_per_s") else "give back what it does not use"
        return (
            f"{root} is at its limit of {self.limit} {self.what}: {remedy}; or the owner of the "
            f"hub runs `cortex client grant {root} --limit {self.what}=N`, or sets it for all in "
            "[limits] of config.toml"
        )


class WireError(CortexError):
    """A frame, a version or an address of the wire cannot be used."""


class FrameError(WireError):
    """The other end does not follow the protocol."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.problem}: the connection is closed, docs/wire-protocol.md says what fits"


class FrameTooLargeError(WireError):
    """A frame is over the bound that the hub stated."""

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(size_bytes, limit_bytes)
        self.size_bytes, self.limit_bytes = size_bytes, limit_bytes

    def __str__(self) -> str:
        return (
            f"a frame of {self.size_bytes} bytes is over the bound of {self.limit_bytes}: publish "
            "fewer events at once, and put large payloads into blobs"
        )


class VersionError(WireError):
    """Client and hub have no version of the protocol in common."""

    def __init__(self, client: str, hub: str) -> None:
        super().__init__(client, hub)
        self.client, self.hub = client, hub

    def __str__(self) -> str:
        return (
            f"the client speaks version {self.client} of the wire protocol and the hub {self.hub}: "
            "upgrade the one that speaks the older version"
        )


class HubUnverifiedError(WireError):
    """Another hub than the expected one listens at the address; nothing was sent to it."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def __str__(self) -> str:
        return f"{self.url} is not the hub that was meant: {self.problem}"


class UrlError(WireError, ValueError):
    """The address cannot be used."""

    exit_code = 2  # the command line's for a wrong argument

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def __str__(self) -> str:
        return f"{self.url}: {self.problem}"


class OutcomeUnknownError(CortexError):
    """A request was sent, no answer came, and it is not known whether it was done."""

    def __init__(self, client: str) -> None:
        super().__init__(client)
        self.client = client

    def __str__(self) -> str:
        return (
            f"no answer reached {self.client or 'this client'}: the request may be recorded or "
            "not. Look at the log before you repeat it; the same call of the same client is safe"
        )


class HubAwayError(CortexError):
    """The hub cannot be reached; what was not acknowledged may not be recorded."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def __str__(self) -> str:
        return f"the hub at {self.url} cannot be reached ({self.problem}): start it, or try later"


class HubClosedError(CortexError):
    """The hub was closed; what was not acknowledged is not recorded."""

    def __str__(self) -> str:
        return "the hub is closed: what was not acknowledged is not recorded; start it and repeat"


class HubFailedError(CortexError):
    """A defect in the hub: it failed while it answered, and has recorded that."""

    def __init__(self, failure: str, kind: str) -> None:
        super().__init__(failure, kind)
        self.failure, self.kind = failure, kind  # an id; the class of what was raised there

    def __str__(self) -> str:
        return (
            f"the hub failed inside while it answered ({self.kind}, failure {self.failure}): what "
            "was asked may be recorded, or not. Its own log has the traceback under that id, and "
            "`cortex events query --topic component.failed` shows it; please report it"
        )


class LogError(CortexError):
    """The log cannot be used as it is."""


class DiskFullError(LogError):
    """The disk is full, wherever it was found; nothing of the request was kept."""
