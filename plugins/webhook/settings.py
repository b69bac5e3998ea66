"""What `[plugins.webhook]` in config.toml may say."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..errors import PluginRefusedError

SECRET = "CORTEX_WEBHOOK_SECRET"  # noqa: S105  # the name of one, unless a hook names another


class Hook(Struct, frozen=True, forbid_unknown_fields=True):
    """One path that takes signed posts."""

    path: str = "/"
    form: Literal["plain", "github"] = "plain"  # what a body says, and how it is signed
    secret: str = SECRET  # the name of the secret, never the secret; each hook has its own
    unique: Literal["body", "delivery"] = (
        "body"  # what makes a post new: its signed body, or its id
    )
    fields: dict[str, Any] = {}  # beside those that the body gives; these win
    inputs: dict[
        str, str
    ] = {}  # of the process: by name, where in the body: "repository.full_name"
    workspace: str = ""  # absolute path of the folder that the work is about


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of the webhook."""

    listen: str = "127.0.0.1:8787"
    hooks: tuple[Hook, ...] = (Hook(),)
    body_bytes: int = 1 << 20  # of one post; GitHub sends up to 25 MB, its workflow runs some 30 kB
    patience_s: float = 10.0  # in which a whole request has to be there

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of `listen`."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


def settings_of(values: dict[str, Any]) -> Settings:
    """The settings that *values* are.

    Raises:
        PluginRefusedError: Something is wrong with them; it names the key.
    """
    try:
        settings = msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise PluginRefusedError(f"[plugins.webhook] in config.toml: {error}") from None
    problem = _problem(settings)
    if problem:
        raise PluginRefusedError(f"[plugins.webhook] in config.toml: {problem}")
    return settings


def _problem(settings: Settings) -> str:
    host, _, port = settings.listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        return f"listen is {settings.listen!r}: write '127.0.0.1:8787'"
    paths = [hook.path for hook in settings.hooks]
    for path in paths:
        if not path.startswith("/") or "?" in path or paths.count(path) > 1:
            return f"path {path!r}: let each hook have one of its own, starting with /"
    by_secret: dict[str, str] = {}
    for hook in settings.hooks:
        other = by_secret.setdefault(hook.secret, hook.path)
        if other != hook.path:
            return (
                f"the hooks {other} and {hook.path} share {hook.secret}: give each its own secret"
            )
    if not 0 < settings.body_bytes <= 32 << 20:
        return f"body_bytes is {settings.body_bytes}: give 1 to {32 << 20}"
    if not 0 < settings.patience_s <= 300:
        return f"patience_s is {settings.patience_s}: give up to 300"
    return ""
