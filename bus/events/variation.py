"""How a fork or a what-if uses the record of another execution."""

from typing import Any, Final

import msgspec

# The key of a request whose answer is on record: no action, gate or provider has such a name.
RECORD: Final = "(on record)"


class Variation(msgspec.Struct, frozen=True, kw_only=True):
    """What a fork or a what-if takes from the record of another execution, and what it changes.

    Calls of actions and tools that are on record, by name and parameters, take their recorded
    results. In a what-if that holds for prompts, gates and failures, too.
    """

    through: int  # position up to which the record counts
    what_if: bool = False  # only the owner may ask for one
    position: int = 0  # prompts recorded up to here are asked for as they were; 0: none
    models: dict[str, str] = {}  # the model to ask, by step; "" for all steps
    knowledge: dict[str, dict[str, str]] = {}  # "path" and "digest" of other content, by topic
    # Of the prompt compiler, where it is other: "persona", "instructions", "strategy", "tokens"
    # (the effective window) and "sections" (tokens by section).
    policy: dict[str, Any] = {}
    linked: str = ""  # digest of the blob with another version of the process
    prompts: tuple[str, ...] = ()  # digests of prompts that a person agreed to send
    within: dict[str, tuple[str, ...]] = {}  # the same of children and items, by their joined path
    budget: float | None = None  # US dollars for what is sent; None: a person is asked each time
    path: tuple[str, ...] = ()  # of a child: what it and its parents carry out, outermost first
    allow: bool = False  # whether effects that are not on record happen without a question
