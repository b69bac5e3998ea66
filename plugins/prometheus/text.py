"""Metrics as text of OpenMetrics, written by the official client; the one file that imports it."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from cortex.runtime.metrics import METRICS, PREFIX, MetricRow, MetricsDocument

CONTENT_TYPE = CONTENT_TYPE_LATEST


def openmetrics(document: MetricsDocument) -> bytes:
    """The text of *document*."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_MetricsCollector(document))
    page: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]  # theirs has no types
    return page


class _MetricsCollector(Collector):
    def __init__(self, document: MetricsDocument) -> None:
        self._document = document

    def collect(self) -> Iterable[Metric]:
        """Each metric that has a value, and how far the log is counted."""
        yield GaugeMetricFamily(
            f"{PREFIX}log_position", "The newest event that is counted.", self._document.position
        )
        rows: dict[str, list[MetricRow]] = {}
        for row in self._document.metrics:
            rows.setdefault(row.name, []).append(row)
        for name, found in rows.items():
            yield from self._family(name, found)

    def _family(self, name: str, rows: list[MetricRow]) -> Iterator[Metric]:
        about, labels = METRICS[name].help, METRICS[name].labels
        if METRICS[name].kind == "counter":
            counter = CounterMetricFamily(f"{PREFIX}{name}", about, labels=labels)
            for row in rows:
                counter.add_metric(list(row.labels.values()), row.value)
            yield counter
            return
        histogram = HistogramMetricFamily(f"{PREFIX}{name}", about, labels=labels, unit="seconds")
        bounds = [*map(str, self._document.bounds_s), "+Inf"]
        for row in rows:
            buckets = list(zip(bounds, map(float, row.buckets), strict=True))
            histogram.add_metric(list(row.labels.values()), buckets, row.value)
        yield histogram
