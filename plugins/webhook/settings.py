"""The settings of `[plugins.webhook]` in config.toml."""

from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from ..listening import Listening, settings_from
from .places import steps_of

Kind: TypeAlias = Literal["", "string", "integer", "number", "boolean", "list", "map", "path"]

SECRET = "CORTEX_WEBHOOK_SECRET"  # noqa: S105  # the name of one, unless a hook names another


class PostField(Struct, frozen=True, forbid_unknown_fields=True):
    """The place of an input in the body of a post, and its type."""

    at: str
    type: Kind = ""  # "" for any that the process takes
    optional: bool = False


class Hook(Struct, frozen=True, forbid_unknown_fields=True):
    """One path that takes signed posts."""

    path: str = "/"
    # The contents of a body, and its signature: "json" is any map, signed like "plain".
    form: Literal["plain", "json", "github"] = "plain"
    secret: str = SECRET  # the name of the secret, never the secret; each hook has its own
    unique: Literal["body", "delivery"] = (
        "body"  # what makes a post new: its signed body, or its id
    )
    fields: dict[str, Any] = {}  # beside those that the body gives; these win
    fields_from: dict[str, str] = {}  # by name, where in the body
    # Of the process: by name, where in the body: "repository.full_name"
    inputs: dict[str, str | PostField] = {}
    workspace: str = ""  # absolute path of the folder that the work is about
    workspace_from: str = ""  # where in the body that folder is named
    workspaces: tuple[str, ...] = ()  # folders of which it is one, or in one of which it is


class Settings(Listening, frozen=True, forbid_unknown_fields=True):
    """All settings of the webhook."""

    listen: str = "127.0.0.1:8787"
    hooks: tuple[Hook, ...] = (Hook(),)
    body_bytes: int = 1 << 20  # of one post; GitHub sends up to 25 MB, its workflow runs some 30 kB


def settings_of(values: dict[str, Any]) -> Settings:
    """The settings that *values* are.

    Raises:
        PluginRefusedError: Something is wrong with them; it names the key.
    """
    return settings_from("webhook", values, Settings, _problem)


def _problem(settings: Settings) -> str:
    paths = [hook.path for hook in settings.hooks]
    for path in paths:
        if not path.startswith("/") or "?" in path or paths.count(path) > 1:
            return f"path {path!r}: give each hook its own, starting with /"
    for hook in settings.hooks:
        if problem := _place_problem(hook):
            return f"hook {hook.path}: {problem}"
    by_secret: dict[str, str] = {}
    for hook in settings.hooks:
        other = by_secret.setdefault(hook.secret, hook.path)
        if other != hook.path:
            return (
                f"the hooks {other} and {hook.path} share {hook.secret}: give each its own secret"
            )
    if not 0 < settings.body_bytes <= 32 << 20:
        return f"body_bytes is {settings.body_bytes}: give 1 to {32 << 20}"
    return ""


def _place_problem(hook: Hook) -> str:
    places = [each if isinstance(each, str) else each.at for each in hook.inputs.values()]
    for place in (*places, *hook.fields_from.values(), *filter(None, (hook.workspace_from,))):
        if not steps_of(place):
            return f"{place!r} is not a place in a body: write repository.name, or runs[0].url"
    if hook.workspace_from and hook.workspace:
        return "give workspace or workspace_from, not both"
    if hook.workspace_from and not hook.workspaces:
        return "workspace_from takes workspaces, the folders in which a post may name one"
    for folder in (*hook.workspaces, *filter(None, (hook.workspace,))):
        if not Path(folder).is_absolute():
            return f"the folder {folder!r} is not an absolute path"
    if hook.form == "json" and not (hook.fields or hook.fields_from):
        return "of the form json, fields or fields_from say which processes match"
    return ""
