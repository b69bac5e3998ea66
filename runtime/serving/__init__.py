"""How a home's runtime is served to other processes, found by them, and told to stop."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from . import note
    from .background import start
    from .connecting import Hub, connect, connected, hub_of
    from .errors import (
        AlreadyUpError,
        FolderError,
        HubSilentError,
        NotUpError,
        ServingError,
        UpFailedError,
    )
    from .hosting import hosted
    from .note import Note, found, socket_path, url_of
    from .plugin_standing import PluginFared, plugin_after
    from .service import Service
    from .standing import Rate, SubscriptionRow, is_untaken, rates_of, subscriptions_of
    from .stopping import stop
    from .systemd import tell_systemd
else:
    lazily(__name__)

__all__ = [
    "AlreadyUpError",
    "FolderError",
    "Hub",
    "HubSilentError",
    "NotUpError",
    "Note",
    "PluginFared",
    "Rate",
    "Service",
    "ServingError",
    "SubscriptionRow",
    "UpFailedError",
    "connect",
    "connected",
    "found",
    "hosted",
    "hub_of",
    "is_untaken",
    "note",
    "plugin_after",
    "rates_of",
    "socket_path",
    "start",
    "stop",
    "subscriptions_of",
    "tell_systemd",
    "url_of",
]
