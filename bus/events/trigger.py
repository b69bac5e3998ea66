"""What sets processes going: something happened, and which process was chosen for it."""

from typing import Any

from ..event import Event


class TriggerReceived(Event, frozen=True, kw_only=True, tag="trigger.received"):
    """Something happened that a process may want to answer."""

    belongs = ("trigger", "trigger_id")

    trigger_id: str
    fields: dict[str, Any]  # what processes match on: {"source": "ci", "status": "failure"}
    inputs: dict[str, Any] = {}  # inputs for whichever process is chosen
    goal: str = ""
    workspace: str = ""  # absolute path of the folder the work is about; "" for none
    waits: bool = True  # for a process that fits, where none does yet; not if a person is told so


class TriggerMatched(Event, frozen=True, kw_only=True, tag="trigger.matched"):
    """A process was chosen for a trigger; an execution starts."""

    belongs = ("trigger", "trigger_id")

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

    trigger_id: str
    reason: str
    candidates: tuple[str, ...] = ()  # those that fit equally
    waits_s: float = 0.0  # for so long a process that fits may still come; 0: it is given up


class TriggerWake(Event, frozen=True, kw_only=True, tag="trigger.wake"):
    """Ask whether a process fits a trigger that waits for one: one came, or its time is over."""

    belongs = ("trigger", "trigger_id")

    trigger_id: str
    last: bool = False  # its time is over
