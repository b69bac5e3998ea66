"""The component behind the plugin `prometheus`: answers scrapes with the metrics of the home."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import msgspec

from cortex.bus import Event, Query
from cortex.bus.events import MetricsAnswer, MetricsGet
from cortex.runtime.kernel import VERSION, Component, Delivery, on
from cortex.runtime.metrics import MetricsDocument

from ..errors import PluginRefusedError
from ..listening import Listening, settings_from
from ..manifest import Manifest, Wants
from .server import PATH, MetricsServer

NAME = "prometheus"
ANSWER_S = 10.0  # for the answer of the accessor; a scrape is given up after as much
PLUGIN = Manifest(
    name=NAME,
    version=VERSION,
    cortex=f"=={VERSION}",
    summary="Serves the metrics over HTTP, for Prometheus and others.",
    components=("cortex.plugins.prometheus:Prometheus",),
    subscribes=("metrics.get", "x.prometheus.scrape"),
    wants=Wants(network=True),
)


class Settings(Listening, frozen=True, forbid_unknown_fields=True):
    """All settings of the endpoint."""

    listen: str = "127.0.0.1:9464"  # anybody who reaches it may read it


def settings_of(values: dict[str, Any]) -> Settings:
    """The settings that *values* are.

    Raises:
        PluginRefusedError: Something is wrong with them; it names the key.
    """
    return settings_from("prometheus", values, Settings)


class Scrape(Query, frozen=True, kw_only=True, tag="x.prometheus.scrape"):
    """Ask for the page over the bus, where HTTP does not reach; the answer is a `Scraped`."""


class Scraped(Query, frozen=True, kw_only=True, tag="x.prometheus.scraped"):
    """The page."""

    content_type: str
    text: str


class Prometheus(Component):
    """Listens for scrapes while it runs; on the loopback address unless configured otherwise.

    It keeps nothing: each page is made of the registry that is folded from the log.
    """

    def __init__(self, settings: Mapping[str, Any], ask: Callable[..., Event]) -> None:
        self._settings = settings_of(dict(settings))
        self._ask = ask
        self._server: MetricsServer | None = None
        self._text: Any = None  # imported when it starts: it needs the extra

    @classmethod
    def listens(cls, settings: Mapping[str, Any]) -> str:
        """Where scrapes go."""
        return f"http://{settings_of(dict(settings)).listen}{PATH}"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that it listens on; only while it is at work."""
        if self._server is None:
            raise PluginRefusedError("prometheus does not listen: start it first")
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    def on_start(self) -> None:
        """Listen."""
        try:
            self._text = import_module(f"{__package__}.text")
        except ModuleNotFoundError as error:
            raise PluginRefusedError(
                f"{error.name} is not installed: pip install 'cortex-runtime[prometheus]'"
            ) from None
        settings = self._settings
        self._server = MetricsServer(settings.address, self._page, settings.patience_s)

    def on_stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            self._server = None

    @on(Scrape)
    def scrape(self, event: Scrape, delivery: Delivery) -> Iterator[Event]:
        """The page as text."""
        content_type, page = self._page()
        yield Scraped(content_type=content_type, text=page.decode())

    def _page(self) -> tuple[str, bytes]:
        return self._text.CONTENT_TYPE, self._text.openmetrics(self._metrics())

    def _metrics(self) -> MetricsDocument:
        answer = self._ask(MetricsGet(), ANSWER_S)
        if not isinstance(answer, MetricsAnswer):
            raise PluginRefusedError(f"{answer.topic_name()} is no answer to metrics.get")
        return msgspec.convert(msgspec.structs.asdict(answer), MetricsDocument)
