"""What plugins that listen share: their settings in config.toml, and their HTTP server."""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, TypeVar

import msgspec

from cortex.runtime.serving import BoundedServer, ListenError

from .errors import PluginRefusedError

LONGEST_PATIENCE_S = 300.0


class Listening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of each plugin that listens."""

    listen: str  # host and port; a host of IPv6 stands in brackets
    patience_s: float = 10.0  # in which a whole request has to be there

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of `listen`."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


Settings = TypeVar("Settings", bound=Listening)


def _nothing(_: Listening) -> str:
    return ""


def settings_from(
    plugin: str,
    values: dict[str, Any],
    kind: type[Settings],
    problem: Callable[[Settings], str] = _nothing,
) -> Settings:
    """The settings of *plugin* that *values* are.

    Args:
        plugin: Its name, that of its table in config.toml.
        values: As the table has them.
        kind: Their Struct, whose fields have defaults.
        problem: Says what else is wrong with settings that are of that kind; "" for nothing.

    Raises:
        PluginRefusedError: Something is wrong with them; it names the key.
    """
    where = f"[plugins.{plugin}] in config.toml"
    try:
        settings = msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise PluginRefusedError(f"{where}: {error}") from None
    example = msgspec.convert({}, kind).listen
    if said := _listening_problem(settings, example) or problem(settings):
        raise PluginRefusedError(f"{where}: {said}")
    return settings


def _listening_problem(settings: Listening, example: str) -> str:
    host, _, port = settings.listen.rpartition(":")
    if not (host and port.isascii() and port.isdecimal() and int(port) <= 65_535):
        return f"listen is {settings.listen!r}: write {example!r}"
    if not 0 < settings.patience_s <= LONGEST_PATIENCE_S:
        return f"patience_s is {settings.patience_s}: give up to {LONGEST_PATIENCE_S:g}"
    return ""


class PluginServer(BoundedServer):
    """The HTTP server of a plugin.

    Args:
        address: Host and port; port 0 for any.
        handler: As for `BoundedServer`.
        plugin: Whose server it is.
        patience_s: Within which a request must be complete.

    Raises:
        PluginRefusedError: The address cannot be listened on.
    """

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        plugin: str,
        patience_s: float,
    ) -> None:
        try:
            super().__init__(address, handler, plugin, patience_s)
        except ListenError as error:
            where = f"{error.host}:{error.port}"
            raise PluginRefusedError(
                f"the {plugin} cannot listen on {where} ({error.reason}): end what does, or set "
                f"another `listen` in [plugins.{plugin}]"
            ) from None
