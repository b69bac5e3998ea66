"""The kernel: components, the shells that run them, supervision, and the composition root."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .components.announcements import announcement_of
    from .components.component import (
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
    from .components.effect import Begun
    from .components.manifest import (
        Entry,
        built_in,
        configured,
        construct,
        load,
        located,
        why_not_imported,
    )
    from .errors import (
        ComponentInvalidError,
        ConfigError,
        HomeError,
        ManifestError,
        NotFoundError,
        NotReadyError,
        RefusedError,
    )
    from .home.config import Config, GcConfig
    from .home.home import Home
    from .home.home_damage import IMPORTING
    from .home.log_config import HeadReceiver
    from .home.masking import key_names, mask_for, open_blobs
    from .hosts.host import LocalHost, Outcome, trace_of
    from .log_levels import wanted_logs
    from .logs import level_asked, log_to_stderr
    from .ports import preferences_of_user
    from .runtime import Runtime
    from .shells import supervision
    from .shells.running import Watching
    from .shells.shell import Hooks
    from .shells.supervision import Restarts, Watched
    from .shells.supervisor import Supervisor
    from .times import duration, iso, local, many, parse_end, parse_time, recent
    from .version import VERSION
    from .worker import Worker
else:
    lazily(__name__)

__all__ = [
    "COMPLETES",
    "EFFECTIVE",
    "IMPORTING",
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
    "GcConfig",
    "HeadReceiver",
    "Home",
    "HomeError",
    "Hooks",
    "Later",
    "LocalHost",
    "ManifestError",
    "NotFoundError",
    "NotReadyError",
    "Outcome",
    "Output",
    "RefusedError",
    "Restarts",
    "Route",
    "Runtime",
    "Serves",
    "Supervisor",
    "Watched",
    "Watching",
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
    "preferences_of_user",
    "recent",
    "routes_of",
    "supervision",
    "trace_of",
    "wanted_logs",
    "why_not_imported",
]
