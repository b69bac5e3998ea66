"""The compiled context of a step: P = f(H, G), with the manifest that explains it."""

from typing import Any

from ..event import Event


class ContextCompile(Event, frozen=True, kw_only=True, tag="context.compile"):
    """Ask for the prompt of a step."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    process: str
    description: str
    goal: str = ""
    instructions: str = ""
    parameters: dict[str, Any] = {}
    knowledge: tuple[dict[str, Any], ...] = ()  # topic, path and digest of each, as linked
    carry: dict[str, Any] = {}  # results of earlier steps that this step declares to see
    needs: dict[str, Any] = {}  # what the step asks of a model
    budget: dict[str, Any] = {}
    tools: tuple[str, ...] = ()  # names of the tools that its model may call
    turn: int = 0  # of an agent step; 0 for the first prompt
    answer_schema: dict[str, Any] = {}  # JSON Schema of the answer; free text where it is empty
    problem: str = ""  # why the last answer did not fit
    # Earlier tries: "step", "attempt", "kind", "error", "excerpt" of what was printed, ...
    failures: tuple[dict[str, Any], ...] = ()
    model: str = ""  # that answered the earlier turns: kept unless it is gone or does not fit
    left: float | None = None  # US dollars that the execution may still spend
    spent: float = 0.0  # US dollars so far
    strategy: str = ""  # "pre-assembled" or "just-in-time"; "" for the configuration's
    found: str = ""  # digest of the blob with the passages that the step's `find:` brought
    found_tokens: int | None = None  # most tokens of those passages; None where nothing bounds them
    inferred: dict[str, Any] = {}  # what the work asks of a model beyond its `needs`
    inferred_from: dict[str, str] = {}  # why, by need
    unfit: tuple[str, ...] = ()  # models whose answer in this attempt was empty or did not fit
    linked: str = ""  # of a step with a goal: digest of the linked process, which says what it may
    verdict: str = ""  # why the goal is not reached, where the last answer said that it is
    # What people changed in the prompts of this step: "section", "item" ("" for the section's own
    # text), "old", "new", "by", "note".
    edits: tuple[dict[str, str], ...] = ()
    new_edits: int = 0  # of those, the last ones: no prompt without them is wanted
    tree: str = ""  # the execution in whose work tree it works; "" for its own, if it has one


class ContextCompiled(Event, frozen=True, kw_only=True, tag="context.compiled"):
    """A prompt was compiled and stored; Cortex asks no model without one."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0  # of an agent step; 0 for the first prompt
    prompt: str  # digest of the blob that holds the prompt's bytes
    manifest: str  # digest of the blob that lists every item considered, in or out
    model: str  # the model it was compiled for
    provider: str = ""  # who takes `model.invoke` for it
    tokens: int  # of the whole prompt
    sections: dict[str, int]  # tokens by section
    window: int  # V_e, the effective window it had to fit
    headroom: int  # tokens kept apart for the answer
    considered: int = 0  # items looked at
    included: int = 0
    actions: tuple[str, ...] = ()  # what was left out, cut or neutralised, in words
    eligible: int = 0  # tokens that a later prompt may read from an endpoint's cache
    epochs: int = 0  # how often earlier turns of the step were rewritten
    strategy: str = ""  # "pre-assembled" or "just-in-time"
    inputs: str = ""  # digest of the blob with all it was compiled from, or names by digest
    better: tuple[str, ...] = ()  # models to ask if the answer does not fit, the next better first
    unedited: tuple[str, ...] = ()  # what people changed and this prompt does not have, and why
    notes: tuple[str, ...] = ()  # what the step asks for and was not there, or changed since


class ContextRefused(Event, frozen=True, kw_only=True, tag="context.refused"):
    """A required item does not fit; nothing was cut silently."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int = 0
    reason: str  # names what is too big and by how much
    dear: bool = False  # whether a model would be asked if there were more to spend


class ContextEdit(Event, frozen=True, kw_only=True, tag="context.edit"):
    """Ask to change the prompt that a breakpoint shows; Cortex compiles it and shows it again.

    Cortex applies all of it or refuses all of it. Later prompts of the step have the change, too.
    """

    belongs = ("execution", "execution_id")

    execution_id: str
    prompt: str  # digest of the prompt that is edited, as `execution.paused` names it
    # Of each "section", "item" ("" for the section's own text), "old", which stands there once, and
    # "new".
    edits: tuple[dict[str, str], ...]
    note: str = ""
    seen: int = 0  # as in `execution.resume`


class ContextEdited(Event, frozen=True, kw_only=True, tag="context.edited"):
    """A person changed the prompt: it was compiled again, with the change."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int
    turn: int
    before: str  # digest of the prompt as it was
    prompt: str  # digest of the prompt as it is now
    edits: tuple[dict[str, str], ...]  # as in `context.edit`
    by: str  # who asked for it, as the hub authenticated them
    note: str = ""
