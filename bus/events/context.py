"""The compiled context of a step: P = f(H, G), with the manifest that explains it."""

from typing import Any

from ..event import Event
from .package import PackageUse


class ContextCompile(Event, frozen=True, kw_only=True, tag="context.compile"):
    """Ask for the prompt of a step."""

    belongs = ("execution", "execution_id")
    personal = (
        "description",
        "goal",
        "instructions",
        "parameters",
        "knowledge",
        "carry",
        "needs",
        "budget",
        "tools",
        "answer_schema",
        "problem",
        "failures",
        "inferred",
        "inferred_from",
        "unfit",
        "verdict",
        "edits",
        "persona",
        "directives",
    )

    execution_id: str
    step_id: str
    attempt: int = 1
    process: str
    description: str
    goal: str = ""
    instructions: str = ""
    parameters: dict[str, Any] = {}
    # Topic, path and digest of each, as linked; in a what-if also "recorded", the inputs of the
    # prompt whose text of the topic counts.
    knowledge: tuple[dict[str, Any], ...] = ()
    carry: dict[str, Any] = {}  # results of earlier steps that this step declares to see
    needs: dict[str, Any] = {}  # what the step requires of a model
    budget: dict[str, Any] = {}
    tools: tuple[str, ...] = ()  # names of the tools that its model may call
    turn: int = 0  # of an agent step; 0 for the first prompt
    answer_schema: dict[str, Any] = {}  # JSON Schema of the answer; empty for free text
    problem: str = ""  # why the last answer did not fit
    # Earlier tries: "step", "attempt", "kind", "error", "excerpt" of what was printed, ...
    failures: tuple[dict[str, Any], ...] = ()
    model: str = ""  # the model of the earlier turns: kept unless it is gone or does not fit
    left: float | None = None  # US dollars that the execution may still spend
    spent: float = 0.0  # US dollars so far
    strategy: str = ""  # "pre-assembled" or "just-in-time"; "" for the configuration's
    found: str = ""  # digest of the blob with the passages that the step's `find:` returned
    found_tokens: int | None = None  # limit of tokens for those passages; None for no limit
    remembered: str = ""  # digest of the blob with the nodes that the step's `memory:` returned
    remembered_tokens: int | None = None  # limit of tokens for those nodes; None for the default
    inferred: dict[str, Any] = {}  # inferred requirements on the model, beyond its `needs`
    inferred_from: dict[str, str] = {}  # why, by need
    unfit: tuple[str, ...] = ()  # models whose answer in this attempt was empty or did not fit
    linked: str = ""  # of a step with a goal: digest of the linked process, which limits it
    verdict: str = ""  # why the goal is not reached, if the last answer claimed that it is
    # What people changed in the prompts of this step: "section", "item" ("" for the section's own
    # text), "old", "new", "by", "note".
    edits: tuple[dict[str, str], ...] = ()
    new_edits: int = 0  # how many of those, the newest, the prompt must contain
    tree: str = ""  # the execution in whose work tree it works; "" for its own, if it has one
    persona: str = ""  # the model's persona in the process; "" for the configuration's
    # What is in force: "kind" ("fact" or "policy"), "name", "value", "scope", "position".
    directives: tuple[dict[str, Any], ...] = ()
    priced: bool = False  # whether the answer names the price, as for a what-if
    # Of a what-if, why it is that model: "record" or "named"; "" for that of the earlier turns.
    model_by: str = ""


class ContextCompiled(Event, frozen=True, kw_only=True, tag="context.compiled"):
    """A prompt was compiled and stored; Cortex asks no model without one."""

    belongs = ("execution", "execution_id")
    personal = ("actions", "better", "unedited", "notes")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0  # of an agent step; 0 for the first prompt
    prompt: str  # digest of the blob that holds the prompt's bytes
    manifest: str  # digest of the blob that lists every item considered, in or out
    model: str  # the model it was compiled for
    provider: str = ""  # the component that takes `model.invoke` for it
    tokens: int  # of the whole prompt
    sections: dict[str, int]  # tokens by section
    window: int  # V_e, the effective window it had to fit
    headroom: int  # tokens reserved for the answer
    considered: int = 0  # items considered
    included: int = 0
    actions: tuple[str, ...] = ()  # what was left out, cut or neutralised, in words
    eligible: int = 0  # tokens that a later prompt may read from an endpoint's cache
    epochs: int = 0  # how often earlier turns of the step were rewritten
    strategy: str = ""  # "pre-assembled" or "just-in-time"
    inputs: str = ""  # digest of the blob with all it was compiled from, or names by digest
    better: tuple[str, ...] = ()  # models to ask if the answer does not fit, the next better first
    unedited: tuple[str, ...] = ()  # edits by people that this prompt does not contain, and why
    notes: tuple[str, ...] = ()  # what the step asks for and was missing, or changed since
    # US dollars that the call may cost at most, if that was asked for; None: no price is known
    most: float | None = None
    memories: tuple[str, ...] = ()  # ids of the nodes of memory that are in it
    packages: tuple[PackageUse, ...] = ()  # that have some of those in one text
    directives: str = ""  # digest of the directives that are in it; "" for none


class ContextRefused(Event, frozen=True, kw_only=True, tag="context.refused"):
    """A required item does not fit; nothing was cut silently."""

    belongs = ("execution", "execution_id")
    personal = ("reason",)

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0
    reason: str  # names what is too big and by how much
    dear: bool = False  # whether a higher cost limit would help


class ContextEdit(Event, frozen=True, kw_only=True, tag="context.edit"):
    """Ask to change the prompt that a breakpoint shows; Cortex compiles it and shows it again.

    Cortex applies all of it or refuses all of it. Later prompts of the step have the change, too.
    """

    belongs = ("execution", "execution_id")
    personal = ("edits", "note")

    execution_id: str
    prompt: str  # digest of the prompt that is edited, as `execution.paused` names it
    # Of each "section", "item" ("" for the section's own text), "old", which occurs there once, and
    # "new".
    edits: tuple[dict[str, str], ...]
    note: str = ""
    seen: int = 0  # as in `execution.resume`


class ContextEdited(Event, frozen=True, kw_only=True, tag="context.edited"):
    """A person changed the prompt: it was compiled again, with the change."""

    belongs = ("execution", "execution_id")
    personal = ("edits", "note")

    execution_id: str
    step_id: str
    attempt: int
    turn: int
    before: str  # digest of the prompt as it was
    prompt: str  # digest of the prompt as it is now
    edits: tuple[dict[str, str], ...]  # as in `context.edit`
    by: str  # who asked for it, as the hub authenticated them
    note: str = ""
