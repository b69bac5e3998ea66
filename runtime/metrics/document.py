"""Metrics as documents: for `--json`, for the answer of a query, and for a page of Prometheus."""

import msgspec

from .catalogue import BUCKETS_S, METRICS
from .registry import MetricsRegistry


class MetricRow(msgspec.Struct, kw_only=True):
    """One metric with one combination of label values."""

    name: str
    kind: str  # "counter" or "histogram"
    help: str
    labels: dict[str, str]
    value: float  # of a counter; of a histogram, the sum of what was observed
    count: int = 0  # of a histogram: how much was observed
    buckets: list[int] = []  # how much of it was at most each of the bounds, then all of it

    @property
    def mean(self) -> float:
        """Of what a histogram observed."""
        return self.value / self.count if self.count else 0.0

    def quantile(self, part: float) -> float:
        """The bound that this *part* of what a histogram observed did not pass.

        It is infinite where the part passed the last bound.
        """
        for bound, count in zip(BUCKETS_S, self.buckets, strict=False):
            if count >= part * self.count:
                return bound
        return float("inf")


class MetricsDocument(msgspec.Struct):
    """All metrics that have a value."""

    position: int  # of the log: every event up to here is counted
    bounds_s: tuple[float, ...]  # of the buckets of every histogram
    metrics: list[MetricRow]


def document_of(registry: MetricsRegistry, position: int) -> MetricsDocument:
    """What *registry* holds, in the order of the catalogue, then by labels."""
    order = {name: number for number, name in enumerate(METRICS)}
    known = [series for series in registry.values if series[0] in order]
    rows = [
        _row(name, labels, registry.values[name, labels])
        for name, labels in sorted(known, key=lambda series: (order[series[0]], series[1]))
    ]
    return MetricsDocument(position, BUCKETS_S, rows)


def _row(name: str, labels: tuple[str, ...], numbers: list[int]) -> MetricRow:
    metric = METRICS[name]
    row = MetricRow(
        name=name,
        kind=metric.kind,
        help=metric.help,
        labels=dict(zip(metric.labels, labels, strict=True)),
        value=numbers[-1] / metric.scale,
    )
    if metric.kind == "histogram":
        total = 0
        for count in numbers[:-1]:
            total += count
            row.buckets = [*row.buckets, total]
        row.count = total
    return row
