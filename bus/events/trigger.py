"""Triggers: something happened, and a process was chosen for it."""

from typing import Any

from ..event import Event


class TriggerReceived(Event, frozen=True, kw_only=True, tag="trigger.received"):
    """Something happened that a process may handle."""

    belongs = ("trigger", "trigger_id")
    subject_field = "subject"
    personal = ("fields", "inputs", "goal", "workspace")

    trigger_id: str
    fields: dict[str, Any]  # what processes match on: {"source": "ci", "status": "failure"}
    inputs: dict[str, Any] = {}  # inputs for the chosen process
    goal: str = ""
    workspace: str = ""  # absolute path of the folder the work is about; "" for none
    waits: bool = True  # for a process that fits; False if the requester wants an immediate answer
    subject: str = ""  # whose personal data it is about; the execution is of the same subject


class TriggerMatched(Event, frozen=True, kw_only=True, tag="trigger.matched"):
    """A process was chosen for a trigger; an execution starts."""

    belongs = ("trigger", "trigger_id")
    personal = ("because", "runners_up")

    trigger_id: str
    execution_id: str
    process: str
    digest: str
    because: str  # "most specific match", "named by the project's configuration", ...
    runners_up: tuple[str, ...] = ()


class TriggerUnmatched(Event, frozen=True, kw_only=True, tag="trigger.unmatched"):
    """No process was chosen: none fits, or several fit equally.

    It may be followed by a `trigger.matched`, if `waits_s` is not 0, or by another one that is the
    last.
    """

    belongs = ("trigger", "trigger_id")
    personal = ("reason", "candidates")

    trigger_id: str
    reason: str
    candidates: tuple[str, ...] = ()  # the processes that fit equally
    waits_s: float = 0.0  # time in which a process that fits may still come; 0: given up


class TriggerWake(Event, frozen=True, kw_only=True, tag="trigger.wake"):
    """Ask whether a process fits a waiting trigger: a process came, or the time is over."""

    belongs = ("trigger", "trigger_id")
    personal = ()

    trigger_id: str
    last: bool = False  # its time is over
