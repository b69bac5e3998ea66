"""Metrics: one registry, folded from the log."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .catalogue import BUCKETS_S, METRICS, OTHER, PREFIX, SERIES_MOST, Metric
    from .document import MetricRow, MetricsDocument, document_of
    from .projection import MetricsProjection, metrics_of, stored
    from .registry import MetricsRegistry
else:
    lazily(__name__)

__all__ = [
    "BUCKETS_S",
    "METRICS",
    "OTHER",
    "PREFIX",
    "SERIES_MOST",
    "Metric",
    "MetricRow",
    "MetricsDocument",
    "MetricsProjection",
    "MetricsRegistry",
    "document_of",
    "metrics_of",
    "stored",
]
