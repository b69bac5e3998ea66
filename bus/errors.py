"""What can go wrong on the bus, and the root of every error in Cortex.

CortexError
├── EventError               an event cannot be taken as it is
│   ├── EventInvalidError        its body does not fit its schema
│   ├── EventTooLargeError       its body is over the bound
│   ├── TopicUnknownError        its topic is not in the vocabulary
│   ├── SchemaUnreadableError    no chain of upcasters reaches its schema
│   └── UpcasterError            the upcasters of a topic are not one chain to its schema
├── ConflictError            a stream moved on before the caller wrote to it
├── CursorError              a commit does not start at the cursor
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
from typing import Any, ClassVar, TypeVar, dataclass_transform

ErrorT = TypeVar("ErrorT", bound="CortexError")


class CortexError(Exception):
    """Anything that Cortex raises on purpose."""

    exit_code: int = 1  # exit code of the command line if it raises this error
    says: ClassVar[str] = ""  # message template, with field names in braces

    def __str__(self) -> str:
        return self.says.format_map(vars(self)) if self.says else super().__str__()


@dataclass_transform(eq_default=False)
def with_fields(error: type[ErrorT]) -> type[ErrorT]:
    """*error*, built from the fields that its class lists, in order or by name."""
    names = tuple(error.__annotations__)
    defaults = {name: vars(error)[name] for name in names if name in vars(error)}

    def init(self: ErrorT, *values: Any, **named: Any) -> None:
        fields = defaults | dict(zip(names, values, strict=False)) | named
        if len(values) > len(names) or fields.keys() != set(names):
            raise TypeError(f"{error.__name__} has the fields {', '.join(names)}")
        vars(self).update(fields)
        Exception.__init__(self, *map(fields.__getitem__, names))  # in args, so it pickles

    error.__init__ = init  # type: ignore[method-assign,assignment]  # its fields are what it takes
    return error


class EventError(CortexError, ValueError):
    """An event cannot be taken as it is."""


@with_fields
class EventInvalidError(EventError):
    """The body does not fit the schema of its topic."""

    topic: str
    problem: str

    says = "{topic}: {problem}; nothing of this request was recorded"


@with_fields
class EventTooLargeError(EventError):
    """The body is over the bound; large payloads are blobs."""

    topic: str
    size_bytes: int
    limit_bytes: int

    says = (
        "{topic} has a body of {size_bytes} bytes, over {limit_bytes}: "
        "put the payload into a blob and name its digest in the event"
    )


@with_fields
class TopicUnknownError(EventError):
    """The topic is neither in the vocabulary nor a plugin's own."""

    topic: str
    nearest: str | None = None

    def __str__(self) -> str:
        hint = f"did you mean {self.nearest}?" if self.nearest else "a plugin's own start with x."
        return f"{self.topic} is not a topic of this bus: {hint}"


@with_fields
class SchemaUnreadableError(EventError):
    """An event was written with a schema that this version cannot lift to its own."""

    exit_code = 4  # the command line's for a home that cannot be used

    topic: str
    schema: int
    newest: int
    position: int

    says = (
        "{topic} at position {position} has schema {schema} and this version "
        "reads {newest}: upgrade Cortex, or register the missing upcaster"
    )


@with_fields
class UpcasterError(EventError):
    """The upcasters of a topic are not one chain, a step for each schema up to the newest."""

    topic: str
    schema: int
    problem: str

    says = (
        "the upcaster of {topic} from schema {schema}: {problem}; give each event one upcaster "
        "for each of its older schemas, to the next one"
    )


@with_fields
class ConflictError(CortexError):
    """The stream moved on before the caller wrote to it."""

    stream: str
    expected: int
    actual: int

    says = "{stream} is at version {actual}, not {expected}: read it again, then retry"


@with_fields
class CursorError(CortexError):
    """A commit does not start at the subscription's cursor."""

    subscription: str
    expected: int
    actual: int

    says = (
        "the cursor of {subscription} is at {actual}, not {expected}: "
        "another client committed; fetch again from the cursor"
    )


@with_fields
class LeaseLostError(CortexError):
    """The work was given to another worker after its lease, or is finished."""

    subscription: str
    position: int
    epoch: int

    says = (
        "epoch {epoch} of {subscription} at position {position} is over: "
        "drop this result, another worker has the event or it is finished"
    )


@with_fields
class BegunError(CortexError):
    """An effect that may happen once only cannot be begun."""

    effect_key: str
    why: str  # "begun" before, or "unwanted"

    def __str__(self) -> str:
        if self.why == "begun":
            return f"effect {self.effect_key} began before: find out how it ended"
        return f"effect {self.effect_key} is no longer wanted: do not begin it"


@with_fields
class TailLostError(CortexError):
    """The log has lost its newest events, some of which the caller had seen.

    Up to *common* the caller and the log have the same events. Drop everything after it, then
    continue from there.
    """

    seen: int
    common: int

    says = (
        "the log has lost its events after position {common}, and this client has seen "
        "{seen}: nothing of this request was recorded; drop everything after "
        "{common} and continue from there"
    )


@with_fields
class SubscriptionError(CortexError):
    """The subscription is unknown, or is of the other kind."""

    subscription: str
    problem: str

    says = "subscription {subscription}: {problem}"


@with_fields
class AskTimeoutError(CortexError, TimeoutError):
    """An answer did not come in time; the component may still be working on it."""

    topic: str
    timeout_s: float

    says = "{topic} had no answer within {timeout_s:g} s: ask again or allow more"


@with_fields
class UnansweredError(CortexError):
    """No component on this bus answers the query."""

    topic: str

    says = "no component answers {topic}: start one that does"


@with_fields
class ClientDeniedError(CortexError):
    """The hub does not admit this client, or not any more; trying again changes nothing."""

    client: str
    reason: str

    def __str__(self) -> str:
        return f"the hub does not admit {self.client or 'this client'}: {self.reason}"


@with_fields
class NotGrantedError(CortexError):
    """The client is known to the hub, and may not do this."""

    client: str
    verb: str
    topic: str

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


@with_fields
class LimitError(CortexError):
    """The client is at one of its limits; nothing of the request was recorded."""

    client: str
    what: str  # a key of [limits]
    limit: int

    def __str__(self) -> str:
        root = self.client.partition("/")[0]
        remedy = "slow down" if self.what.endswith("_per_s") else "release what it does not use"
        return (
            f"{root} is at its limit of {self.limit} {self.what}: {remedy}; or the owner of the "
            f"hub runs `cortex client grant {root} --limit {self.what}=N`, or sets it for all in "
            "[limits] of config.toml"
        )


class WireError(CortexError):
    """A frame, a version or an address of the wire cannot be used."""


@with_fields
class FrameError(WireError):
    """The other end does not follow the protocol."""

    problem: str

    says = "{problem}: the connection is closed, see docs/wire-protocol.md"


@with_fields
class FrameTooLargeError(WireError):
    """A frame is over the bound that the hub stated."""

    size_bytes: int
    limit_bytes: int

    says = (
        "a frame of {size_bytes} bytes is over the bound of {limit_bytes}: publish "
        "fewer events at once, and put large payloads into blobs"
    )


@with_fields
class VersionError(WireError):
    """Client and hub have no version of the protocol in common."""

    client: str
    hub: str

    says = (
        "the client speaks version {client} of the wire protocol and the hub {hub}: "
        "upgrade the one that speaks the older version"
    )


@with_fields
class HubUnverifiedError(WireError):
    """Another hub than the expected one listens at the address; nothing was sent to it."""

    url: str
    problem: str

    says = "{url} is not the expected hub: {problem}"


@with_fields
class UrlError(WireError, ValueError):
    """The address cannot be used."""

    exit_code = 2  # the command line's for a wrong argument

    url: str
    problem: str

    says = "{url}: {problem}"


@with_fields
class OutcomeUnknownError(CortexError):
    """A request was sent, no answer came, and it is not known whether it was done."""

    client: str

    def __str__(self) -> str:
        return (
            f"no answer reached {self.client or 'this client'}: the request may be recorded or "
            "not. Look at the log before you repeat it; the same call of the same client is safe"
        )


@with_fields
class HubAwayError(CortexError):
    """The hub cannot be reached; what was not acknowledged may not be recorded."""

    url: str
    problem: str

    says = "the hub at {url} cannot be reached ({problem}): start it, or try later"


class HubClosedError(CortexError):
    """The hub was closed; what was not acknowledged is not recorded."""

    def __str__(self) -> str:
        return "the hub is closed: what was not acknowledged is not recorded; start it and repeat"


@with_fields
class HubFailedError(CortexError):
    """A defect in the hub: it failed while it answered, and has recorded that."""

    failure: str  # an id
    kind: str  # the class of what was raised there

    says = (
        "a defect in the hub ended this request ({kind}, failure {failure}): Cortex "
        "may have recorded it, or not. The hub's own log has the traceback under that id, and "
        "`cortex events query --topic component.failed` shows it; please report it"
    )


class LogError(CortexError):
    """The log cannot be used as it is."""


class DiskFullError(LogError):
    """The disk is full, wherever it was found; nothing of the request was kept."""
