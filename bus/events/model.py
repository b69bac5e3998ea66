"""Asking a model: which one was selected, what it was asked, what it answered."""

from typing import Any

from ..event import Ephemeral, Event


class ModelSelected(Event, frozen=True, kw_only=True, tag="model.selected"):
    """A model was chosen for a step by what the step needs."""

    belongs = ("execution", "execution_id")
    routing = "model"

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0  # of an agent step; 0 for the first prompt
    model: str
    provider: str = ""
    because: str
    runners_up: tuple[str, ...] = ()  # the others that would do, cheapest first
    rejected: tuple[str, ...] = ()  # "NAME lacks ...": why the rest would not
    needs: dict[str, Any] = {}  # what the step asks of a model
    cost: float = 0.0  # estimated cost of the call in US dollars
    inferred: dict[str, Any] = {}  # what the work asks for beyond that
    inferred_from: dict[str, str] = {}  # why, by need
    unfit: tuple[str, ...] = ()  # models that answered before, and not as they had to


class ModelInvoke(Event, frozen=True, kw_only=True, tag="model.invoke"):
    """Ask a model; the request names the compiled prompt by its digest."""

    belongs = ("execution", "execution_id")
    routing = "provider"

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0  # of an agent step; 0 for the first prompt
    call: int = 1  # how often this prompt was sent: an endpoint may be overloaded
    model: str
    provider: str = ""  # who takes it
    prompt: str  # digest of a blob that a `context.compiled` named
    answer_schema: dict[str, Any] = {}  # JSON Schema of the answer; free text where it is empty
    max_tokens: int = 1500
    timeout_s: float = 300.0
    component: str = ""  # who is asked; the answer of anybody else does not count
    host: str = ""  # the client that announced it, whose answer counts, too; "" for the owner's


class ModelUnclaimed(Event, frozen=True, kw_only=True, tag="model.unclaimed"):
    """No provider can take this request at the moment."""

    belongs = ("execution", "execution_id")
    routing = "model"

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

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0
    call: int = 1
    model: str
    prompt: str
    # "text"; "data" where a schema was asked for; "calls", each with "id", "tool" and "arguments";
    # and what else the provider vouches for ("spans").
    answer: dict[str, Any]
    stop: str = "end"  # "end", "length", "calls" or "refused"
    cost: float = 0.0  # US dollars, by the price that the model was described with
    input_tokens: int = 0
    cached_read_tokens: int = 0
    cached_write_tokens: int = 0
    output_tokens: int = 0
    by: str = ""  # the person who answered, as the hub authenticated them; "" for a machine


class ModelFailed(Event, frozen=True, kw_only=True, tag="model.failed"):
    """A model did not answer."""

    belongs = ("execution", "execution_id")
    routing = "model"

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
    retry_after_s: float | None = None  # what the endpoint asks for
    retry: bool = True
    # What the endpoint says that it took all the same, as when it breaks off in the middle.
    cost: float = 0.0
    input_tokens: int = 0
    cached_read_tokens: int = 0
    cached_write_tokens: int = 0
    output_tokens: int = 0


class ModelDelta(Ephemeral, frozen=True, kw_only=True, tag="model.delta"):
    """A piece of an answer as it comes; not in the log."""

    belongs = ("execution", "execution_id")
    routing = "model"

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0
    call: int = 1
    number: int = 0  # of this piece in its answer, counted from 0
    model: str
    text: str
