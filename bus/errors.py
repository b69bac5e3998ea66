"""What can go wrong on the bus, and the root of every error in Cortex.

CortexError
├── EventError               an event cannot be taken as it is
│   ├── EventInvalidError        its body does not fit its schema
│   ├── EventTooLargeError       its body is over the bound
│   ├── TopicUnknownError        its topic is not in the vocabulary
│   └── SchemaUnreadableError    no chain of upcasters reaches its schema
├── ConflictError            a stream moved on before the caller wrote to it
├── CursorError              a commit does not start where the cursor stands
├── LeaseLostError           the work went to somebody else, or is finished
├── SubscriptionError        the subscription is unknown, or is of the other kind
├── AskTimeoutError          an answer did not come in time
├── UnansweredError          nobody here answers this query
├── HubClosedError           the hub was closed
└── LogError                 the log cannot be used; its tree stands in runtime/log/errors.py
"""


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
            f"{self.subscription} stands at {self.actual}, not {self.expected}: "
            "somebody else committed; fetch again from the cursor"
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


class SubscriptionError(CortexError):
    """The subscription is unknown, or is of the other kind."""

    def __init__(self, subscription: str, problem: str) -> None:
        super().__init__(subscription, problem)
        self.subscription, self.problem = subscription, problem

    def __str__(self) -> str:
        return f"subscription {self.subscription}: {self.problem}"


class AskTimeoutError(CortexError, TimeoutError):
    """An answer did not come in time; the asked component may still be at work."""

    def __init__(self, topic: str, timeout_s: float) -> None:
        super().__init__(topic, timeout_s)
        self.topic, self.timeout_s = topic, timeout_s

    def __str__(self) -> str:
        return f"{self.topic} had no answer within {self.timeout_s:g} s: ask again or allow more"


class UnansweredError(CortexError):
    """Nobody on this bus answers the query."""

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.topic = topic

    def __str__(self) -> str:
        return f"nobody answers {self.topic}: start a component that does"


class HubClosedError(CortexError):
    """The hub was closed; what was not acknowledged is not recorded."""

    def __str__(self) -> str:
        return "the hub is closed: what was not acknowledged is not recorded; start it and repeat"


class LogError(CortexError):
    """The log cannot be used as it is."""
