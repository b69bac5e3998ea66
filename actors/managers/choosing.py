"""Selects the process for a request or a trigger, and says which one was chosen, or why none."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from cortex.bus.events import (
    ExecutionRequest,
    TriggerMatched,
    TriggerReceived,
    TriggerUnmatched,
)
from cortex.runtime.access import person_of
from cortex.runtime.kernel import Delivery, Output
from cortex.runtime.processes import (
    MANUAL,
    LinkedInterface,
    LinkedProcess,
    ManualTrigger,
    Match,
    Tie,
    absence,
    offered_inputs,
)

from .catalogue import Catalogue


class Chosen(Struct, frozen=True):
    """The selected process."""

    process: LinkedProcess
    because: str
    runners_up: tuple[str, ...] = ()


class Refusal(Struct, frozen=True):
    """Why no process was selected, and what to do."""

    reason: str
    candidates: tuple[str, ...] = ()  # processes that fit equally
    unlinked: Chosen | None = None  # the selected process, if it only lacks something
    missing: tuple[str, ...] = ()  # the missing parts of that


class Preferences(Struct, frozen=True):
    """Names of processes, by interface or by trigger (``"source=ci status=failure"``)."""

    project: Mapping[str, str] = {}
    user: Mapping[str, str] = {}

    def for_interface(self, interface: str) -> list[str]:
        """Preferred processes for *interface*, the most preferred first."""
        return [each[interface] for each in (self.project, self.user) if interface in each]

    def for_trigger(self, fields: Mapping[str, Any]) -> list[str]:
        """Preferred processes for a trigger with *fields*, the most preferred first."""
        return [*_fitting(self.project, fields), *_fitting(self.user, fields)]

    def whose(self, process: str, wanted: Sequence[str]) -> str:
        """Whose configuration named *process*, one of *wanted*."""
        by_project = process in wanted and process in self.project.values()
        return "the project's configuration" if by_project else "the user's configuration"


def for_request(
    catalogue: Catalogue, preferences: Preferences, name: str, version: int
) -> Chosen | Refusal:
    """The process for *name*, which may be an interface; version 0 is the newest."""
    table = catalogue.table
    process = table.get(name, version or None)
    if process is not None:
        return _runnable(catalogue, Chosen(process, "named by the request"))
    versions = ", ".join(str(each.version) for each in table.versions(name))
    if versions:
        return Refusal(f"there is no version {version} of {name}: it has {versions}")
    if name not in catalogue.interfaces():
        contract = catalogue.contract(name)
        return Refusal(_unimplemented(contract) if contract else _unknown(catalogue, name))
    if only := _abstract(catalogue, name):
        return Refusal(only)
    wanted = preferences.for_interface(name)
    return _outcome(
        catalogue, preferences, wanted, table.implementing(name, wanted), f"implements {name}"
    )


def for_trigger(
    catalogue: Catalogue, preferences: Preferences, fields: Mapping[str, Any]
) -> Chosen | Refusal:
    """The process that answers a trigger with *fields*; it may be unlinked."""
    return meant(_for_trigger(catalogue, preferences, fields))


def meant(chosen: Chosen | Refusal) -> Chosen | Refusal:
    """The selected process, even if unlinked: its execution waits until it is linked again."""
    return chosen.unlinked or chosen if isinstance(chosen, Refusal) else chosen


def _for_trigger(
    catalogue: Catalogue, preferences: Preferences, fields: Mapping[str, Any]
) -> Chosen | Refusal:
    if fields.get("source") == MANUAL and "process" in fields:
        return _manual(catalogue, str(fields["process"]))
    wanted = preferences.for_trigger(fields)
    match = catalogue.table.match(fields, wanted, catalogue.shipped())
    if match is None:
        given = " ".join(f"{name}={value}" for name, value in sorted(fields.items()))
        return Refusal(
            f"no process answers a trigger with {given or 'no fields'}: "
            "give one a trigger that matches, or run one by its name"
        )
    return _outcome(catalogue, preferences, wanted, match, "most specific match")


def _manual(catalogue: Catalogue, name: str) -> Chosen | Refusal:
    process = catalogue.table.get(name)
    if process is None:
        return Refusal(_unknown(catalogue, name))
    if not any(isinstance(trigger, ManualTrigger) for trigger in process.triggers):
        return Refusal(
            f"{name} has no manual trigger: add `trigger: manual`, or run it by its name"
        )
    return _runnable(catalogue, Chosen(process, "named by the trigger"))


def _outcome(
    catalogue: Catalogue,
    preferences: Preferences,
    wanted: list[str],
    match: Match | Tie | None,
    because: str,
) -> Chosen | Refusal:
    if match is None:
        return Refusal("no process that may run fits: those that do are abstract or retired")
    if isinstance(match, Tie):
        return Refusal(str(match), tuple(each.name for each in match.candidates))
    if match.by == "preference":
        because = f"named by {preferences.whose(match.chosen.name, wanted)}"
    elif match.by == "ownership":
        because = f"{because} among your own; what comes with Cortex gives way"
    names = tuple(each.name for each in match.runners_up)
    return _runnable(catalogue, Chosen(match.chosen, because, names))


def _runnable(catalogue: Catalogue, chosen: Chosen) -> Chosen | Refusal:
    process = chosen.process
    if process.abstract:
        concrete = [
            name
            for name in catalogue.table.names()
            if (each := catalogue.table.get(name)) and process.name in each.chain[1:]
            if not each.abstract
        ]
        instead = f"run {' or '.join(concrete)}" if concrete else "extend it and run that"
        return Refusal(f"{process.name} is abstract and cannot be run: {instead}")
    missing = catalogue.missing(process)
    if missing:
        why = "; ".join(map(absence, missing))
        return Refusal(
            f"{process.name} is unlinked: {why}; it runs again once that is put right",
            unlinked=chosen,
            missing=missing,
        )
    return chosen


def _abstract(catalogue: Catalogue, interface: str) -> str:
    """Why *interface* does not run, if all its implementations are abstract; else ""."""
    table = catalogue.table
    found = [
        each
        for name in table.names()
        if (each := table.get(name)) and interface in dict(each.implements)
    ]
    if not found or not all(each.abstract for each in found):
        return ""
    names, many = ", ".join(each.name for each in found), len(found) > 1
    which = "which are abstract: extend one" if many else "which is abstract: extend it"
    return f"only {names} implement{'' if many else 's'} {interface}, {which} and run that"


def _unimplemented(contract: LinkedInterface) -> str:
    """Why an interface without implementations does not run, and what would implement it."""
    needs = {
        "step": [step for step, _ in contract.required_steps],
        "gate": contract.required_gates,
        "topic": contract.required_knowledge,
        "input": [field.name for field in contract.inputs],
        "output": [field.name for field in contract.outputs],
    }
    has = "; ".join(
        f"the {noun}{'s' if len(names) > 1 else ''} {', '.join(names)}"
        for noun, names in needs.items()
        if names
    )
    return (
        f"nothing implements the interface {contract.name}: it runs once there is a process with "
        f"`implements: {contract.name}`{f' that has {has}' if has else ''}; "
        "`cortex process validate` shows what keeps one from compiling"
    )


def _unknown(catalogue: Catalogue, name: str) -> str:
    lost = catalogue.lost(name)
    if lost:
        return f"{name} was compiled and cannot be read: {lost}; compile it again"
    known = sorted({*catalogue.table.names(), *catalogue.interfaces(), *catalogue.contracts()})
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"there is no process or interface {name}: did you mean {near[0]}?"
    return f"there is no process or interface {name}: `cortex process list` shows those there are"


def _fitting(preferences: Mapping[str, str], fields: Mapping[str, Any]) -> list[str]:
    """Processes whose conditions all hold, with the most conditions first."""
    found: list[tuple[int, str]] = []
    for written, process in preferences.items():
        conditions = [part.partition("=") for part in written.split()]
        if all(
            equals and _written(fields.get(name)) == value for name, equals, value in conditions
        ):
            found.append((-len(conditions), process))
    return [process for _, process in sorted(found, key=lambda each: each[0])]


def _written(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def matched(
    event: TriggerReceived, chosen: Chosen | Refusal, delivery: Delivery, source: str
) -> Iterator[Output]:
    """Request the execution of the *chosen* process, or report why there is none.

    *source* is the client that published the trigger: the execution is requested in its name.
    """
    if isinstance(chosen, Refusal):
        yield not_matched(event, chosen.reason, chosen.candidates)
        return
    process = chosen.process
    execution_id = delivery.new_id()
    yield TriggerMatched(
        trigger_id=event.trigger_id,
        execution_id=execution_id,
        process=process.name,
        digest=process.digest,
        because=chosen.because,
        runners_up=chosen.runners_up,
    )
    yield ExecutionRequest(
        execution_id=execution_id,
        process=process.name,
        process_version=process.version,
        inputs=offered_inputs(process, event.fields, event.inputs),
        goal=event.goal,
        workspace=event.workspace,
        trigger=event.trigger_id,
        requested_by=person_of(source),
        subject=event.subject,
    )


def not_matched(
    event: TriggerReceived, reason: str, candidates: tuple[str, ...] = ()
) -> TriggerUnmatched:
    """The final event about a trigger without a process."""
    return TriggerUnmatched(trigger_id=event.trigger_id, reason=reason, candidates=candidates)
