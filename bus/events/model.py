"""Model calls: the selected model, its requests and its answers."""

from typing import Any

from ..event import Ephemeral, Event
from .execution import RECORD


class ModelSelected(Event, frozen=True, kw_only=True, tag="model.selected"):
    """A model was chosen for a step by what the step needs."""

    belongs = ("execution", "execution_id")
    routing = "model"
    personal = ("because", "runners_up", "rejected", "needs", "inferred", "inferred_from", "unfit")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0  # of an agent step; 0 for the first prompt
    model: str
    provider: str = ""
    because: str
    runners_up: tuple[str, ...] = ()  # the other suitable models, cheapest first
    rejected: tuple[str, ...] = ()  # "NAME lacks ...": why the rest are not suitable
    needs: dict[str, Any] = {}  # what the step requires of a model
    cost: float = 0.0  # estimated cost of the call in US dollars
    inferred: dict[str, Any] = {}  # inferred requirements beyond `needs`
    inferred_from: dict[str, str] = {}  # why, by need
    unfit: tuple[str, ...] = ()  # models whose earlier answer did not fit


class ModelInvoke(Event, frozen=True, kw_only=True, tag="model.invoke"):
    """Ask a model; the request names the compiled prompt by its digest."""

    belongs = ("execution", "execution_id")
    routing = "provider"
    personal = ("answer_schema",)

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0  # of an agent step; 0 for the first prompt
    call: int = 1  # how often this prompt was sent; it is repeated if an endpoint is overloaded
    model: str
    provider: str = ""  # the component that takes it
    prompt: str  # digest of a blob that a `context.compiled` named
    answer_schema: dict[str, Any] = {}  # JSON Schema of the answer; empty for free text
    max_tokens: int = 1500
    timeout_s: float = 300.0
    component: str = ""  # the component that is asked; answers of others do not count
    host: str = ""  # the client that announced it, whose answers count as well; "" for the owner
    recorded: int = 0  # position of the answer on record that counts; nobody is asked then

    def key(self) -> str | None:
        """The provider; `RECORD` if the answer is on record."""
        return RECORD if self.recorded else self.provider


class ModelUnclaimed(Event, frozen=True, kw_only=True, tag="model.unclaimed"):
    """No provider can take this request at the moment."""

    belongs = ("execution", "execution_id")
    routing = "model"
    personal = ("reason",)

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0
    call: int = 1
    model: str
    provider: str = ""
    reason: str


class ModelResponded(Event, frozen=True, kw_only=True, tag="model.responded"):
    """A model answered."""

    belongs = ("execution", "execution_id")
    routing = "model"
    personal = ("answer",)

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0
    call: int = 1
    model: str
    prompt: str
    # "text"; "data" if a schema was given; "calls", each with "id", "tool" and "arguments";
    # and what else the provider adds ("spans").
    answer: dict[str, Any]
    stop: str = "end"  # "end", "length", "calls" or "refused"
    cost: float = 0.0  # US dollars, by the price in the model's description
    input_tokens: int = 0
    cached_read_tokens: int = 0
    cached_write_tokens: int = 0
    output_tokens: int = 0
    by: str = ""  # the person who answered, as the hub authenticated them; "" for a machine
    recorded: int = 0  # position of the answer that this repeats: nothing was sent for it


class ModelFailed(Event, frozen=True, kw_only=True, tag="model.failed"):
    """A model did not answer."""

    belongs = ("execution", "execution_id")
    routing = "model"
    personal = ("error",)

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0
    call: int = 1
    model: str
    error: str
    # "rate_limited", "overloaded", "unreachable" and "cut_off" pass by themselves; "unauthorised",
    # "garbage", "timeout", "refused", "missing" and "failed" do not.
    kind: str = "failed"
    retry_after_s: float | None = None  # the wait that the endpoint asks for
    retry: bool = True
    # Usage that the endpoint reports despite the failure, as when it is cut off.
    cost: float = 0.0
    input_tokens: int = 0
    cached_read_tokens: int = 0
    cached_write_tokens: int = 0
    output_tokens: int = 0
    recorded: int = 0  # position of the failure that this repeats: nothing was sent for it


class ModelDelta(Ephemeral, frozen=True, kw_only=True, tag="model.delta"):
    """A piece of an answer as it comes; not in the log."""

    belongs = ("execution", "execution_id")
    routing = "model"
    personal = ("text",)

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0
    call: int = 1
    number: int = 0  # of this piece in its answer, counted from 0
    model: str
    text: str
