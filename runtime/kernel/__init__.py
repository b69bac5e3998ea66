"""The kernel: components, the shells that run them, supervision, and the composition root."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .announcements import announcement_of
    from .component import (
        COMPLETES,
        EFFECTIVE,
        MADE,
        SERVED,
        AsyncComponent,
        Component,
        Delivery,
        Forget,
        Later,
        Output,
        Route,
        Serves,
        component_of,
        on,
        routes_of,
    )
    from .config import Config
    from .counts import many
    from .effect import Begun
    from .errors import (
        ComponentInvalidError,
        ConfigError,
        HomeError,
        ManifestError,
        NotFoundError,
        NotReadyError,
        RefusedError,
    )
    from .home import Home
    from .host import trace_of
    from .logs import level_asked, log_to_stderr
    from .manifest import Entry, built_in, configured, construct, load, located, why_not_imported
    from .masking import key_names, mask_for, open_blobs
    from .runtime import Runtime
    from .times import duration, iso, local, parse_end, parse_time, recent
    from .version import VERSION
    from .worker import Worker
else:
    lazily(__name__)

__all__ = [
    "COMPLETES",
    "EFFECTIVE",
    "MADE",
    "SERVED",
    "VERSION",
    "AsyncComponent",
    "Begun",
    "Component",
    "ComponentInvalidError",
    "Config",
    "ConfigError",
    "Delivery",
    "Entry",
    "Forget",
    "Home",
    "HomeError",
    "Later",
    "ManifestError",
    "NotFoundError",
    "NotReadyError",
    "Output",
    "RefusedError",
    "Route",
    "Runtime",
    "Serves",
    "Worker",
    "announcement_of",
    "built_in",
    "component_of",
    "configured",
    "construct",
    "duration",
    "iso",
    "key_names",
    "level_asked",
    "load",
    "local",
    "located",
    "log_to_stderr",
    "many",
    "mask_for",
    "on",
    "open_blobs",
    "parse_end",
    "parse_time",
    "recent",
    "routes_of",
    "trace_of",
    "why_not_imported",
]
