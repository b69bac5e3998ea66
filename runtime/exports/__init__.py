"""Exports of the log for other tools, and imports of them."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .errors import ExportDamagedError, ExportNewerError
    from .export import FORMATS, NATIVE, ExportDocument, Format, export_log, export_to
    from .importing import ImportDocument, import_log
    from .otlp_sender import send_spans
    from .source import Counts, Source
else:
    lazily(__name__)

__all__ = [
    "FORMATS",
    "NATIVE",
    "Counts",
    "ExportDamagedError",
    "ExportDocument",
    "ExportNewerError",
    "Format",
    "ImportDocument",
    "Source",
    "export_log",
    "export_to",
    "import_log",
    "send_spans",
]
