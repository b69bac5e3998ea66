"""Which clauses of the EU AI Act (Regulation (EU) 2024/1689) each kind of event serves.

The clauses are those on logs: articles 12, 19 and 26. A kind serves a clause if a reader
needs its events for what the clause demands; nothing here says that a duty is fulfilled.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from cortex.bus import Vocabulary


class Clause(msgspec.Struct, frozen=True):
    """One demand of the regulation on logs."""

    name: str  # article and paragraph
    demand: str
    means: str  # how the log serves it


LIFETIME: Final = "12(1)"
RISKS: Final = "12(2)(a)"
MARKET: Final = "12(2)(b)"
OPERATION: Final = "12(2)(c), 26(5)"
PROVIDERS: Final = "19(1)"
DEPLOYERS: Final = "26(6)"
KEEPING: Final = (PROVIDERS, DEPLOYERS)  # served by every event that is recorded

CLAUSES: Final = (
    Clause(
        LIFETIME,
        "events are recorded automatically over the lifetime of the system",
        "Cortex records them as the work goes on; nobody has to switch it on",
    ),
    Clause(
        RISKS,
        "events that show a risk, or a substantial modification",
        "failures, refusals and denials, and every change of what may act",
    ),
    Clause(
        MARKET,
        "events for the provider's post-market monitoring (article 72)",
        "what was asked, answered, checked, rated and spent",
    ),
    Clause(
        OPERATION,
        "events with which deployers monitor the operation",
        "what began, waited and ended, and what people asked and decided",
    ),
    Clause(
        PROVIDERS,
        "providers keep these logs for at least six months",
        "events are never removed; see since when there are records",
    ),
    Clause(
        DEPLOYERS,
        "deployers keep these logs for at least six months",
        "events are never removed; see since when there are records",
    ),
)

# What the report does not cover, by article; a log alone cannot.
NOT_COVERED: Final = (
    "whether your system is of high risk (article 6), and which duties are yours",
    "risk management (article 9)",
    "training, validation and test data (article 10)",
    "technical documentation, and instructions for deployers (articles 11 and 13)",
    "whether human oversight is adequate (articles 14 and 26(2)): the log has only what people did",
    "accuracy, robustness and cybersecurity (article 15)",
    "remote biometric identification (article 12(3)): no event has what it demands",
    "quality management (article 17)",
    "a monitoring plan, and reports of serious incidents (articles 72 and 73)",
    "what other programs do, and what the provider of a model does with a prompt",
    "events that were never recorded, and logs of other homes",
)

_LIFE = (LIFETIME,)
_RISK = (LIFETIME, RISKS)
_USE = (LIFETIME, MARKET)
_WATCH = (LIFETIME, OPERATION)
_RISK_USE = (LIFETIME, RISKS, MARKET)
_RISK_WATCH = (LIFETIME, RISKS, OPERATION)
_USE_WATCH = (LIFETIME, MARKET, OPERATION)
_ALL = (LIFETIME, RISKS, MARKET, OPERATION)

# A kind that is not here is refused by a test: whoever adds one says what it serves.
_KINDS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (
        _LIFE,
        (
            "context.compile effect.intended execution.deferred execution.ignored "
            "gate.evaluate gc.collect gc.collected knowledge.index knowledge.request "
            "log.segment_sealed memory.collected memory.request package.compile package.suggest "
            "package.suggested "
            "process.unchanged step.delegated step.execute step.fanned step.inherited "
            "step.item_changed step.proposed step.reopened step.skipped step.wake "
            "trigger.matched trigger.wake"
        ),
    ),
    (
        _RISK,
        (
            "component.announced component.restarted component.started component.withdrawn "
            "context.refused execution.refused knowledge.indexed knowledge.removed "
            "log.clock_jumped log.epoch_began log.fork_declared "
            "log.tail_lost model.unclaimed plugin.crashed "
            "plugin.denied plugin.loaded plugin.unloaded process.compiled process.rejected "
            "process.retired process.unlinked step.unclaimed tool.denied tool.enabled "
            "tool.listed tool.unclaimed trigger.unmatched"
        ),
    ),
    (
        _USE,
        (
            "context.compiled execution.charged knowledge.requested learning.action_observed "
            "memory.consolidated memory.linked memory.recorded memory.recurred memory.requested "
            "memory.superseded model.invoke model.responded model.selected package.compiled "
            "step.completed tool.call "
            "tool.returned"
        ),
    ),
    (
        _WATCH,
        (
            "client.connected client.left component.drop component.retry context.edit "
            "directive.applied directive.branch directive.branched directive.clarification_asked "
            "directive.conflicted directive.merge directive.merged directive.passed directive.pin "
            "directive.pinned directive.redo directive.redone directive.refused directive.submit "
            "directive.undo directive.undone "
            "context.edited effect.settle effect.settled execution.break "
            "execution.breakpoints_changed execution.cancel execution.cancelled "
            "execution.edit execution.edited execution.finish execution.pause "
            "execution.paused execution.request execution.resume execution.resumed "
            "memory.consolidate memory.correct memory.corrected memory.forget memory.forgotten "
            "memory.link memory.pin memory.pinned memory.record memory.refused memory.restore "
            "memory.restored memory.reword memory.undo memory.undone memory.unpinned "
            "package.refused runtime.started runtime.stopped step.propose step.settle step.settled "
            "trigger.received"
        ),
    ),
    (_RISK_USE, "component.failed gate.evaluated model.failed step.failed tool.failed"),
    (
        _RISK_WATCH,
        (
            "client.denied client.limited effect.unknown grant.given grant.revoked "
            "log.state_mended plugin.load plugin.unload process.submit subject.erased trust.given "
            "trust.withdrawn"
        ),
    ),
    (_USE_WATCH, "execution.completed execution.rated execution.started"),
    (_ALL, "execution.failed execution.halted"),
    # Queries, their answers, and what passes on the bus: none of them is recorded.
    (
        (),
        (
            "directive.answer directive.get "
            "execution.answer execution.get execution.list knowledge.answer knowledge.find "
            "log.answer log.seal memory.answer memory.find memory.get "
            "metrics.answer metrics.get model.delta process.answer process.list runtime.answer "
            "runtime.get step.claimed step.progress"
        ),
    ),
)

SERVES: Final[Mapping[str, tuple[str, ...]]] = {
    topic: clauses for clauses, topics in _KINDS for topic in topics.split()
}


def unmapped(vocabulary: Vocabulary) -> set[str]:
    """The topics of *vocabulary* of which nothing is said here, not even that they serve none."""
    return {topic for topic in vocabulary.classes() if topic not in SERVES}
