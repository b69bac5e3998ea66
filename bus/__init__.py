"""The wire: typed events, the hub, clients, subscriptions, who may say what."""

from .errors import (
    AskTimeoutError,
    ConflictError,
    CortexError,
    CursorError,
    EventError,
    EventInvalidError,
    EventTooLargeError,
    HubClosedError,
    LeaseLostError,
    LogError,
    SchemaUnreadableError,
    SubscriptionError,
    TopicUnknownError,
    UnansweredError,
)
from .event import FORMAT, Draft, Ephemeral, Event, Query, Recorded, as_map, decode, encode
from .vocabulary import FOREIGN, Upcaster, Vocabulary

__all__ = [
    "FOREIGN",
    "FORMAT",
    "AskTimeoutError",
    "ConflictError",
    "CortexError",
    "CursorError",
    "Draft",
    "Ephemeral",
    "Event",
    "EventError",
    "EventInvalidError",
    "EventTooLargeError",
    "HubClosedError",
    "LeaseLostError",
    "LogError",
    "Query",
    "Recorded",
    "SchemaUnreadableError",
    "SubscriptionError",
    "TopicUnknownError",
    "UnansweredError",
    "Upcaster",
    "Vocabulary",
    "as_map",
    "decode",
    "encode",
]
