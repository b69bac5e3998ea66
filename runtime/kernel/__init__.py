"""The kernel: components, the shells that run them, supervision, and the composition root."""

from .component import Component, Delivery, Forget, Later, Output, Serves, on, routes_of
from .errors import ComponentInvalidError, ConfigError, HomeError, ManifestError, NotReadyError

__all__ = [
    "Component",
    "ComponentInvalidError",
    "ConfigError",
    "Delivery",
    "Forget",
    "HomeError",
    "Later",
    "ManifestError",
    "NotReadyError",
    "Output",
    "Serves",
    "on",
    "routes_of",
]
