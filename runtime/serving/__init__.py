"""Serves a home's runtime to other processes, and lets them find and stop it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from . import note
    from .acting import (
        ActingDocument,
        ActingEndpoint,
        LogInside,
        WithdrawnDocument,
        acting_document,
        acting_lines,
        home_in,
        withdraw_recorded,
    )
    from .background import start
    from .connecting import (
        Hub,
        connect,
        connected,
        hub_of,
    )
    from .errors import (
        AlreadyUpError,
        FolderError,
        HomeHeldError,
        HubSilentError,
        ListenError,
        NotUpError,
        ServingError,
        UpFailedError,
    )
    from .holding import HeldDocument, held_by, held_lines
    from .hosting import hosted
    from .http_server import BoundedServer
    from .hub_or_log import granting, sealing
    from .note import Note, found, socket_path
    from .parked import ParkedEvent, parked_of
    from .plugin_status import PluginFared, plugin_after
    from .service import Service, tell_systemd
    from .states import MendedDocument, StateDocument, StateRow, mended_document, state_document
    from .stopping import stop
    from .subscription_status import Rate, SubscriptionRow, is_untaken, rates_of, subscriptions_of
else:
    lazily(__name__)

__all__ = [
    "ActingDocument",
    "ActingEndpoint",
    "AlreadyUpError",
    "BoundedServer",
    "FolderError",
    "HeldDocument",
    "HomeHeldError",
    "Hub",
    "HubSilentError",
    "ListenError",
    "LogInside",
    "MendedDocument",
    "NotUpError",
    "Note",
    "ParkedEvent",
    "PluginFared",
    "Rate",
    "Service",
    "ServingError",
    "StateDocument",
    "StateRow",
    "SubscriptionRow",
    "UpFailedError",
    "WithdrawnDocument",
    "acting_document",
    "acting_lines",
    "connect",
    "connected",
    "found",
    "granting",
    "held_by",
    "held_lines",
    "home_in",
    "hosted",
    "hub_of",
    "is_untaken",
    "mended_document",
    "note",
    "parked_of",
    "plugin_after",
    "rates_of",
    "sealing",
    "socket_path",
    "start",
    "state_document",
    "stop",
    "subscriptions_of",
    "tell_systemd",
    "withdraw_recorded",
]
