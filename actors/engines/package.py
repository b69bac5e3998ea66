"""The engine of packages: compiles chains of memory into text, ahead of the prompts."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cortex.bus import Event, Log, Recorded, Vocabulary, serving
from cortex.bus.events import (
    VOCABULARY,
    PackageCompile,
    PackageCompiled,
    PackageRefused,
    PackageSuggest,
    PackageSuggested,
)
from cortex.runtime.context import counter_for
from cortex.runtime.kernel import Component, Config, Delivery, Home, Output, on
from cortex.runtime.log import Blobs
from cortex.runtime.memory import (
    MemoryInvalidError,
    MemoryMissingError,
    MemoryStoreError,
    PackageMissingError,
    PackagePlan,
    counted_from,
    package_id_of,
    planned_again,
    planned_package,
    suggested_packages,
)

from ..opened_memory import OpenedMemory

if TYPE_CHECKING:
    from cortex.runtime.memory import MemoryView, PackageText

REFUSALS = (MemoryInvalidError, MemoryMissingError, MemoryStoreError, PackageMissingError)


class PackageEngine(Component):
    """Compiles packages, and suggests some; it works in its own process while there is work.

    What it reads is memory at the position of the request, so that it compiles the same again if it
    was killed before its answer was recorded.
    """

    workers = 1
    rests = True
    cpu = True
    lease_s = 120.0  # a text of 2,000 memories takes a second

    def __init__(
        self,
        blobs: Blobs,
        history: Callable[[str], Iterator[Recorded]],
        config: Config | None = None,
        home: Home | None = None,
        vocabulary: Vocabulary = VOCABULARY,
        log: Log | None = None,
    ) -> None:
        self._blobs = blobs
        self._memory = OpenedMemory(home, config or Config(), history, vocabulary, log)

    def on_stop(self) -> None:
        """Close the store of memory."""
        self._memory.close()

    @on(PackageCompile)
    def compile(self, event: PackageCompile, delivery: Delivery) -> Iterator[Event]:
        """Compile a package, or say why not."""
        try:
            with self._memory.view(delivery.position) as view:
                plan, through = _planned(event, view), view.position
            text = _text_of(plan)
            if not text.sources and not event.package_id:
                raise MemoryInvalidError(
                    f"nothing of {', '.join(event.chains)} is current: restore a memory, or name "
                    "another chain"
                )
        except REFUSALS as error:
            yield PackageRefused(
                asked=event.topic_name(),
                reason=str(error),
                by=delivery.source,
                package_id=event.package_id,
            )
            return
        yield self._compiled(plan, text, through, delivery.source)

    @on(PackageSuggest)
    def suggest(self, event: PackageSuggest, delivery: Delivery) -> Iterator[Output]:
        """Suggest packages, and have those compiled that are suggested or stale."""
        try:
            with self._memory.view(delivery.position) as view:
                suggested = suggested_packages(view, delivery.time_ns)
                stale, through = view.packages.stale(), view.position
        except MemoryStoreError as error:
            yield PackageRefused(asked=event.topic_name(), reason=str(error), by=delivery.source)
            return
        for each in suggested:
            yield PackageSuggested(
                package_id=package_id_of(each.scope, each.subject, each.chains),
                scope=each.scope,
                subject=each.subject,
                chains=each.chains,
                steps=each.steps,
                since_ns=counted_from(delivery.time_ns),
                through=through,
            )
            yield PackageCompile(chains=each.chains, scope=each.scope)
        for package in stale:
            yield PackageCompile(package_id=package.id, scope=package.scope)

    def _compiled(
        self, plan: PackagePlan, text: "PackageText", through: int, by: str
    ) -> PackageCompiled:
        # Encrypted for whose memory it is, whoever asked.
        with serving(plan.subject or None):
            digest = self._blobs.put(text.text.encode()) if text.text else ""
            current = digest
            if text.current_text != text.text:
                current = self._blobs.put(text.current_text.encode())
        return PackageCompiled(
            package_id=plan.package_id,
            scope=plan.scope,
            subject=plan.subject,
            chains=plan.anchors,
            sources=text.sources,
            replaced=text.replaced,
            beside=text.beside,
            digest=digest,
            tokens=text.tokens,
            current_digest=current,
            current_tokens=text.current_tokens,
            raw_tokens=text.raw_tokens,
            through=through,
            by=by,
        )


def _text_of(plan: PackagePlan) -> "PackageText":
    # Not above: a runtime that runs this in another process needs no numpy.
    from cortex.runtime.memory import COUNTED_IN, package_text

    return package_text(plan.chains, plan.scope, plan.subject, counter_for(COUNTED_IN))


def _planned(event: PackageCompile, view: "MemoryView") -> PackagePlan:
    if event.package_id:
        return planned_again(view, event.package_id, event.scope)
    return planned_package(view, event.chains, event.scope)
