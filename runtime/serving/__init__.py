"""How a home's runtime is served to other processes, found by them, and told to stop."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from . import note
    from .acting import (
        ActingDocument,
        ActingEndpoint,
        LogInside,
        acting_document,
        acting_lines,
        home_in,
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
        NotUpError,
        ServingError,
        UpFailedError,
    )
    from .granting import granting
    from .holding import HeldDocument, held_by, held_lines
    from .hosting import hosted
    from .note import Note, found, socket_path, url_of
    from .parked import ParkedEvent, parked_of
    from .plugin_standing import PluginFared, plugin_after
    from .service import Service, tell_systemd
    from .standing import Rate, SubscriptionRow, is_untaken, rates_of, subscriptions_of
    from .states import MendedDocument, StateDocument, StateRow, mended_document, state_document
    from .stopping import stop
else:
    lazily(__name__)

__all__ = [
    "ActingDocument",
    "ActingEndpoint",
    "AlreadyUpError",
    "FolderError",
    "HeldDocument",
    "HomeHeldError",
    "Hub",
    "HubSilentError",
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
    "socket_path",
    "start",
    "state_document",
    "stop",
    "subscriptions_of",
    "tell_systemd",
    "url_of",
]
