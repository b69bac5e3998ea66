"""The costs of a prompt's sections, by the endpoint's token counts and its prices."""

from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from typing import NamedTuple

from cortex.bus.events import ComponentAnnounced, ContextCompiled, ModelFailed, ModelResponded
from cortex.runtime.models import Price, Usage, description_in, plus
from cortex.runtime.projections import STREAM, HomeLog
from cortex.runtime.registry import MODEL, Registry, evolve
from cortex.runtime.registry import STREAM as REGISTRY

from .recorded import Compiled

_PER = 1_000_000  # tokens that a price is for


class _Known(NamedTuple):
    position: int
    price: Price


class Costs:
    """Looks up the usage of prompts that a model with a known price answered."""

    def __init__(self, history: HomeLog) -> None:
        self._history = history
        self._prices: dict[str, list[_Known]] = {}
        self._usages: dict[str, dict[tuple[str, int, int, str], Usage]] = {}  # by execution
        registry = Registry()
        for record in history.stream(REGISTRY):
            before, event = registry, history.event(record)
            registry = evolve(registry, event, record.source)
            if registry is before or not isinstance(event, ComponentAnnounced):
                continue
            if event.kind == MODEL and (described := description_in(event)):
                known = _Known(record.position, described.price)
                self._prices.setdefault(event.name, []).append(known)

    def of(self, compiled: Compiled) -> dict[str, float] | None:
        """US dollars by section; None if no model answered, or its price is unknown.

        Cached reads are counted for the beginning of a prompt, then cache writes.
        """
        event = compiled.event
        price, usage = self._price(compiled), self._usage(event)
        return sections_cost(event.sections, usage, price) if price and usage else None

    def _price(self, compiled: Compiled) -> Price | None:
        """The price as it was announced when the prompt was compiled."""
        known = self._prices.get(compiled.event.model, ())
        then = [each.price for each in known if each.position < compiled.position]
        return then[-1] if then and then[-1] != Price() else None

    def _usage(self, event: ContextCompiled) -> Usage | None:
        found = self._usages.get(event.execution_id)
        if found is None:
            found = self._usages[event.execution_id] = {}
            for key, usage in self._read(event.execution_id):
                found[key] = plus(found.get(key, Usage()), usage)  # it may be sent several times
        return found.get((event.step_id, event.attempt, event.turn, event.prompt))

    def _read(self, execution_id: str) -> Iterator[tuple[tuple[str, int, int, str], Usage]]:
        prompts: dict[tuple[str, int, int], str] = {}
        for event in map(self._history.event, self._history.stream(STREAM + execution_id)):
            if isinstance(event, ContextCompiled):
                prompts[event.step_id, event.attempt, event.turn] = event.prompt
            elif isinstance(event, ModelResponded | ModelFailed) and not event.recorded:
                place = event.step_id, event.attempt, event.turn
                usage = Usage(
                    input=event.input_tokens,
                    cached_read=event.cached_read_tokens,
                    cached_write=event.cached_write_tokens,
                )
                if usage != Usage():
                    yield (*place, prompts.get(place, "")), usage


def sections_cost(sections: Mapping[str, int], usage: Usage, price: Price) -> dict[str, float]:
    """US dollars by section of a prompt that took *usage*, whose tokens are in the order sent.

    An endpoint's counts differ slightly from the compiler's: its tokens are distributed by ours.
    """
    whole = usage.input + usage.cached_read + usage.cached_write
    scale = whole / max(sum(sections.values()), 1)
    ends = list(accumulate((tokens * scale for tokens in sections.values()), initial=0.0))
    read, written = usage.cached_read, usage.cached_read + usage.cached_write
    return {
        name: (
            _within(start, end, 0, read) * price.cached_read
            + _within(start, end, read, written) * price.cached_write
            + _within(start, end, written, whole) * price.input
        )
        / _PER
        for name, (start, end) in zip(sections, pairwise(ends), strict=True)
    }


def _within(start: float, end: float, low: float, high: float) -> float:
    """How much of *start* to *end* is between *low* and *high*."""
    return max(0.0, min(end, high) - max(start, low))
