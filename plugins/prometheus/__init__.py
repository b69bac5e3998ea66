"""The plugin `prometheus`: serves the metrics over HTTP, as text of OpenMetrics."""

from .endpoint import PLUGIN, Prometheus, Scrape, Scraped, Settings, settings_of

__all__ = ["PLUGIN", "Prometheus", "Scrape", "Scraped", "Settings", "settings_of"]
