"""What is announced of an action, a gate and a tool, read from announcements and listings.

Announcements come from the authors of components: unreadable parts are left out.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from cortex.bus import UNDECLARED, Effect, effect_of
from cortex.bus.events import ComponentAnnounced, ToolListed

ACTION: Final = "action"  # kinds of announcements
GATE: Final = "gate"
MODEL: Final = "model"
TOOL: Final = "tool"
LEVELLED: Final = ("reasoning", "code", "speed")  # needs that have a level
_DEFS = "#/$defs/"
LONGEST = 64  # characters that every endpoint takes
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_HASH = 8  # characters that tell shortened names apart


class ActionSpec(Struct, gc=False, frozen=True, kw_only=True):
    """An action that some component announced it can carry out."""

    name: str  # "read_ci_log"
    component: str  # who carries it out
    parameters: dict[str, Any] = {}  # JSON Schema of an object; {} takes anything
    result: dict[str, Any] = {}  # JSON Schema of an object; {} promises nothing
    effect: Effect = UNDECLARED  # on the world
    asks_model: bool = False  # its handler is given a model's answer to a compiled context
    # Left out of the announcement's digest where they are not used.
    answer: dict[str, Any] | UnsetType = UNSET  # JSON Schema of what the model has to answer
    answers_output: bool | UnsetType = UNSET  # the model answers what a step's `output:` declares
    needs: dict[str, Any] | UnsetType = UNSET  # what the work asks of a model, by the announcement
    # Parameters that name a program to start, or an address to send to.
    programs: tuple[str, ...] | UnsetType = UNSET


class GateSpec(Struct, gc=False, frozen=True, kw_only=True):
    """A gate that some component announced it can evaluate."""

    name: str  # "branch_clean"
    component: str
    parameters: dict[str, Any] = {}
    read_only: bool = True  # a dry run evaluates read-only gates and no others


class ToolSpec(Struct, frozen=True):
    """A tool that a model may call."""

    name: str  # "read_file"; "server.tool" of a server
    description: str
    parameters: dict[str, Any]  # JSON Schema, of an object
    provider: str  # who takes `tool.call`; "" for what the execution does itself
    pack: str
    effect: Effect = UNDECLARED
    component: str = ""  # who offers it: whose answer to a call counts
    host: str = ""  # the client that announced it, likewise; "" for the owner's

    @property
    def wire(self) -> str:
        """Its name as it is given to a model."""
        return wire_name(self.name)

    def shown(self) -> dict[str, Any]:
        """Its description for a model."""
        return {
            "name": self.wire,
            "description": self.description,
            "parameters": self.parameters,
        }


def action_of(said: ComponentAnnounced) -> ActionSpec:
    """The action that *said* announces."""
    traits: dict[str, Any] = said.traits
    return ActionSpec(
        name=said.name,
        component=said.component,
        parameters=said.parameters,
        result=said.result,
        effect=effect_of(traits.get("effect")),
        asks_model=bool(traits.get("asks_model")),
        answer=said.answer or UNSET,
        answers_output=True if traits.get("answers_output") else UNSET,
        needs=stated(traits.get("needs")) or UNSET,
        programs=_strings(traits.get("programs")) or UNSET,
    )


def gate_of(said: ComponentAnnounced) -> GateSpec:
    """The gate that *said* announces."""
    return GateSpec(
        name=said.name,
        component=said.component,
        parameters=said.parameters,
        read_only=bool(said.traits.get("read_only")),
    )


def tool_of(said: ComponentAnnounced) -> ToolSpec:
    """The tool that *said* announces."""
    traits = said.traits
    provider = str(traits.get("provider", ""))
    return ToolSpec(
        name=said.name,
        description=str(traits.get("description", "")),
        parameters=_of_object(said.parameters),
        provider=provider,
        pack=str(traits.get("pack", provider)),
        effect=effect_of(traits.get("effect")),
    )


def tools_of(listing: ToolListed) -> Iterator[ToolSpec]:
    """The tools that a server lists."""
    for tool in listing.tools:
        parameters = tool.get("parameters")
        yield ToolSpec(
            name=f"{listing.server}.{tool.get('name', '')}",
            description=str(tool.get("description", "")),
            parameters=_of_object(parameters if isinstance(parameters, dict) else {}),
            provider=listing.provider,
            pack=listing.server,
            effect=effect_of(tool.get("effect")),
        )


def stated(plain: object) -> dict[str, Any]:
    """The levels in *plain*, as an action's announcement states them; others are left out."""
    if not isinstance(plain, Mapping):
        return {}
    return {name: plain[name] for name in LEVELLED if plain.get(name) in ("low", "medium", "high")}


def _strings(said: Any) -> tuple[str, ...]:
    listed = said if isinstance(said, list | tuple) else ()
    return tuple(each for each in listed if isinstance(each, str))


def _of_object(schema: dict[str, Any]) -> dict[str, Any]:
    """*schema* with the type `object` at its top, where endpoints want it, not a reference."""
    reference = schema.get("$ref", "")
    definitions = schema.get("$defs", {})
    name = str(reference).removeprefix(_DEFS)
    if isinstance(definitions, dict) and isinstance(definitions.get(name), dict):
        top = dict(definitions[name])
        left = {n: d for n, d in definitions.items() if n != name or _names(definitions, name)}
        return {**top, "$defs": left} if left else top
    return {"type": "object", "properties": {}, **schema}


def _names(schema: Any, name: str) -> bool:
    """Whether something in *schema* refers to the definition *name*."""
    if isinstance(schema, dict):
        inside = any(_names(value, name) for value in schema.values())
        return inside or schema.get("$ref") == f"{_DEFS}{name}"
    return isinstance(schema, list) and any(_names(each, name) for each in schema)


def wire_name(name: str) -> str:
    """*name* in letters, digits, `_` and `-`; different names stay different.

    `server.tool` becomes `server__tool`. A name that would not be unmistakable then, or too long,
    ends with some letters of its hash.
    """
    plain = name.replace(".", "__")
    told = _PLAIN.fullmatch(plain) and "__" not in name and name.count(".") <= 1
    clear = told and not name.startswith((".", "_")) and "_." not in name and "._" not in name
    if clear and len(plain) <= LONGEST:
        return plain
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH]
    kept = "".join(c if _PLAIN.fullmatch(c) else "_" for c in plain)
    return f"{kept[: LONGEST - _HASH - 1]}-{digest}"
