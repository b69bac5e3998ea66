"""The checks of `cortex doctor`: whether a home and what runs on it work."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .checks import checks_of, is_held, live_differences
    from .endpoints import ModelCheck, check_model, check_models
    from .failing import (
        Failing,
        SilentServer,
        failing_lines,
        failing_of,
        plugin_line,
        plugins_of,
        silent_server_lines,
        silent_servers_of,
        times,
        with_failures,
    )
    from .findings import Check
    from .models import ModelRow, models_of, one_chooses
    from .recorded import blobs_named, blobs_of
else:
    lazily(__name__)

__all__ = [
    "Check",
    "Failing",
    "ModelCheck",
    "ModelRow",
    "SilentServer",
    "blobs_named",
    "blobs_of",
    "check_model",
    "check_models",
    "checks_of",
    "failing_lines",
    "failing_of",
    "is_held",
    "live_differences",
    "models_of",
    "one_chooses",
    "plugin_line",
    "plugins_of",
    "silent_server_lines",
    "silent_servers_of",
    "times",
    "with_failures",
]
