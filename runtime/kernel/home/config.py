"""config.toml: what the user has set, checked key by key."""

import difflib
import re
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from cortex.bus import Effect, Limits
from cortex.runtime.cache import CacheConfig
from cortex.runtime.knowledge import KnowledgeConfig
from cortex.runtime.models import ModelConfigError, ModelsConfig
from cortex.runtime.tools import ToolsConfig

from ..errors import ConfigError
from .config_keys import Key, keys_of, line_of, template_of
from .log_config import ArchiveConfig, AuditConfig

if TYPE_CHECKING:
    from .home import Home  # it writes the template of the settings declared here

_WORDS = {
    "array": "a list",
    "bool": "a boolean",
    "float": "a number",
    "int": "an integer",
    "object": "a table",
    "str": "a string",
}

# Settings of a new home. The defaults apply to existing homes, and must not change.
NEW = {"durability": '"full"'}

Tokens = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class Budgets(Struct, frozen=True, forbid_unknown_fields=True):
    """Most tokens that a section of a compiled context may take."""

    persona: Annotated[Tokens | None, Meta(description="the role of the model")] = None
    instructions: Annotated[Tokens | None, Meta(description="instructions for every step")] = None
    directives: Annotated[Tokens | None, Meta(description="what people laid down")] = None
    tools: Annotated[Tokens | None, Meta(description="tools that the model may call")] = None
    knowledge: Annotated[Tokens | None, Meta(description="knowledge and evidence")] = None
    memory: Annotated[Tokens | None, Meta(description="memory and summaries")] = None
    history: Annotated[Tokens | None, Meta(description="earlier turns and outputs")] = None
    step: Annotated[Tokens | None, Meta(description="the step itself")] = None
    headroom: Annotated[Tokens | None, Meta(description="reserved for the answer")] = None


class ContextConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How much a compiled context may hold."""

    window: Annotated[
        Tokens | None,
        Meta(
            description="effective window in tokens, a hard limit for prompt and answer; unless "
            "set, the smaller of 24,000 and 40 % of the model's own window"
        ),
    ] = None
    strategy: Annotated[
        Literal["pre-assembled", "just-in-time"],
        Meta(
            description="where a prompt has retrieved items, unless the step says: in front, "
            "where an endpoint's cache keeps them, or at the end, where they may "
            "change"
        ),
    ] = "pre-assembled"
    persona: Annotated[
        str,
        Meta(
            max_length=20_000,
            description="the role of the model in every prompt, unless process or step says "
            "another; unset, Cortex says that it carries out one step of a process",
        ),
    ] = ""
    instructions: Annotated[
        str,
        Meta(
            max_length=100_000,
            description="instructions for the model in every prompt, before those of process and "
            "step",
        ),
    ] = ""
    budgets: Budgets = Budgets()


class ShellConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The action `shell` and the gate `command`."""

    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="programs that may start, by name or by path, exactly as written; an "
            "empty list allows all"
        ),
    ] = ()
    timeout_s: Annotated[
        float,
        Meta(
            gt=0,
            description="seconds after which Cortex ends a program, unless the step sets "
            "another time",
        ),
    ] = 600.0
    effect: Annotated[
        Effect,
        Meta(
            description="the effect of the programs of `shell`: after a kill, Cortex runs `none` "
            "and `read` again, runs `idempotent` again with its key, and asks a "
            "person about `once`"
        ),
    ] = "once"


class ProgramsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for every program that Cortex starts for a step, a gate or a model."""

    environment: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^[^=\0]+$")], ...],
        Meta(
            description="names of environment variables that programs get beside the standard "
            'ones, as in `["JAVA_HOME"]`'
        ),
    ] = ()


class HandlersConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the built-in handlers."""

    shell: ShellConfig = ShellConfig()


class ProcessesConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How processes are compiled and chosen."""

    watch: Annotated[
        bool,
        Meta(description="whether a running hub compiles processes soon after they change"),
    ] = True
    wait_s: Annotated[
        float,
        Meta(
            ge=0,
            le=31_536_000,
            description="seconds that an event without a process, and a request for an unlinked "
            "process, wait for one; 0 gives them up at once",
        ),
    ] = 600.0


class LogsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Log lines on standard error; the event log is another thing, and has everything."""

    level: Annotated[
        Literal["trace", "debug", "info", "warning", "error"] | None,
        Meta(
            description="lowest level of the lines that are written; unless set, a hub writes "
            "warnings and errors, and a command writes none"
        ),
    ] = None
    format: Annotated[
        Literal["text", "json"], Meta(description="how a line is written: for people, or as JSON")
    ] = "text"


class ComponentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """One component that is started beside the built-in ones."""

    use: Annotated[
        str,
        Meta(
            pattern=r"^[\w.]+:\w+$",
            description="import string of a class or a decorated function, `package.module:NAME`",
        ),
    ]
    workers: Annotated[
        Annotated[int, Meta(ge=0, le=1_000)] | None,
        Meta(description="number of workers; unless set, the number in the class"),
    ] = None
    config: Annotated[
        dict[str, Any], Meta(description="passed to its constructor as `settings`")
    ] = {}


class GcConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """When memory is collected, and what may go."""

    every_hours: Annotated[
        float,
        Meta(ge=0, le=87_600, description="hours between two collections; 0: only by hand"),
    ] = 24.0
    superseded_days: Annotated[
        float, Meta(ge=0, description="how long older versions of a memory stay, at least")
    ] = 90.0
    versions: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000,
            description="older versions of a memory that stay, whatever their age",
        ),
    ] = 3
    half_life_days: Annotated[
        float,
        Meta(gt=0, description="in which the strength of an unused observation or outcome halves"),
    ] = 30.0
    package_days: Annotated[
        float, Meta(ge=0, description="how long a package stays that no prompt has, at least")
    ] = 90.0


class MemoryConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How memory is kept."""

    consolidate_hours: Annotated[
        float,
        Meta(ge=0, le=87_600, description="hours between two consolidations; 0: only by hand"),
    ] = 24.0
    packages_hours: Annotated[
        float,
        Meta(ge=0, le=87_600, description="hours between two suggestions of packages; 0: none"),
    ] = 24.0
    reword_most: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000,
            description="summaries that a model puts into fewer words after a consolidation; 0: "
            "no model is asked",
        ),
    ] = 0


class DirectivesConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How directives are read."""

    profile: Annotated[
        Literal["seed", "dialogue", "strict"],
        Meta(description="which sentences lay something down, where a request names no profile"),
    ] = "dialogue"


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a home."""

    durability: Annotated[
        Literal["normal", "full"],
        Meta(
            description='what an acknowledged event survives: with "normal" a kill of the '
            'process, with "full" also a loss of power; `cortex init` sets "full"'
        ),
    ] = "normal"
    preferences: Annotated[
        dict[str, str],
        Meta(
            description="process to choose if several fit, by interface or by trigger "
            '(`"source=ci status=failure" = "triage_ci_failure"`)'
        ),
    ] = {}
    context: ContextConfig = ContextConfig()
    knowledge: KnowledgeConfig = KnowledgeConfig()
    models: ModelsConfig = ModelsConfig()
    tools: ToolsConfig = ToolsConfig()
    handlers: HandlersConfig = HandlersConfig()
    programs: ProgramsConfig = ProgramsConfig()
    processes: ProcessesConfig = ProcessesConfig()
    cache: CacheConfig = CacheConfig()
    archive: ArchiveConfig = ArchiveConfig()
    audit: AuditConfig = AuditConfig()
    gc: GcConfig = GcConfig()
    memory: MemoryConfig = MemoryConfig()
    directives: DirectivesConfig = DirectivesConfig()
    logs: LogsConfig = LogsConfig()
    limits: Limits = Limits()
    components: Annotated[
        tuple[ComponentConfig, ...], Meta(description="your own components, one table for each")
    ] = ()
    plugins: Annotated[
        dict[str, dict[str, Any]],
        Meta(description="settings of plugins, one table for each: `[plugins.webhook]`"),
    ] = {}

    @classmethod
    def load(cls, home: "Home") -> "Config":
        """The settings in the config.toml of *home*, to act on; defaults if there is no such file.

        Raises:
            UntrustedHomeError: The user has not trusted that home.
            ConfigError: It cannot be read, or a key or value in it is wrong; with the line.
        """
        home.require_trust()
        return cls.shown(home)

    @classmethod
    def shown(cls, home: "Home") -> "Config":
        """As `load`, but for any home: only to show, never to act on.

        Raises:
            ConfigError: As for `load`.
        """
        path = home.config_path
        if path.exists() and not path.is_file():
            raise ConfigError(str(path), "is not a plain file: remove it, or write one")
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ConfigError(str(path), f"cannot be read: {why or error}; check it") from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, name: str = "config.toml") -> "Config":
        """The settings in *text*; errors mention *name*.

        Raises:
            ConfigError: A key or value in it is wrong; with the line.
        """
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _not_toml(name, str(error)) from None
        try:
            return msgspec.convert(values, cls)
        except msgspec.ValidationError as error:
            raise _wrong(name, text, error) from None

    @classmethod
    def keys(cls) -> Iterator[Key]:
        """All keys."""
        return keys_of(cls)

    @classmethod
    def template(cls) -> str:
        """A config.toml for a new home: it shows every key, and sets those in `NEW`."""
        return template_of(cls, NEW)


def _not_toml(name: str, problem: str) -> ConfigError:
    at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", problem)
    where = f"{name}:{at[1]}" if at and at[1] else name
    what = problem[: at.start()] if at else problem
    end = "" if at is None or at[1] else " at its end"
    return ConfigError(where, f"is not TOML{end}: {what[:1].lower()}{what[1:]}")


def _wrong(name: str, text: str, error: msgspec.ValidationError) -> ConfigError:
    cause = error.__cause__
    if isinstance(cause, ModelConfigError):  # the message is free text
        what, at = "", str(error).rpartition(" - at ")[2]
    else:
        what, _, at = str(error).partition(" - at ")
    path = [part for part in re.findall(r"[^.\[\]`$]+", at) if part]
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL)
    missing = re.fullmatch(r"Object missing required field `(.*)`", what)
    if isinstance(cause, ModelConfigError):
        path += cause.keys
        what = f"`{_dotted(path)}` is wrong: {cause.problem}"
    elif unknown:
        path.append(unknown[1])
        what = _unknown(path)
    elif missing:
        what = f"`{_dotted(path)}` lacks its key `{missing[1]}`"
    else:
        what = f"`{_dotted(path)}` is wrong: {_in_toml(what, path)}"
    line = line_of(text, path)
    return ConfigError(f"{name}:{line}" if line else name, what)


def _unknown(path: list[str]) -> str:
    table = tuple(part for part in path[:-1] if not part.isdigit())
    depth = len(table)
    inside = [key for key in keys_of(Config) if key.table[:depth] == table]
    known = sorted({key.table[depth] if len(key.table) > depth else key.name for key in inside})
    near = difflib.get_close_matches(path[-1], known, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
    where = f" in [{'.'.join(table)}]" if table else ""
    return f"`{path[-1][:60]}`{where} is not a key: {hint}"


def _in_toml(problem: str, path: list[str]) -> str:
    """The message of msgspec about a value, in terms of TOML."""
    if problem.startswith("Invalid enum value"):
        types = {(*key.table, key.name): key.type for key in keys_of(Config)}
        *table, name = (part for part in path if not part.isdigit())
        return f"expected {types[(*table, name)]}, got{problem.removeprefix('Invalid enum value')}"
    problem = problem[:1].lower() + problem[1:].replace(" | null", "")
    return re.sub(r"`(\w+)`", lambda word: _WORDS.get(word[1], word[0]), problem)


def _dotted(path: list[str]) -> str:
    return ".".join(part for part in path if not part.isdigit())
