"""The vocabulary of the bus for programs in any language: JSON Schema, and an AsyncAPI document."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from .event import Ephemeral, Event, Query

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ASYNCAPI = "3.0.0"
DESCRIPTION = (
    "Every event that clients of a hub publish and are sent. A channel is a topic; a payload is a "
    "msgpack map with the fields of its schema. Topics x.<plugin>.<verb> are plugins' own. How "
    "frames carry events is described in docs/wire-protocol.md."
)


def schema_document(classes: Iterable[type[Event]]) -> dict[str, Any]:
    """One JSON Schema for every event of *classes*; each class has its own under $defs."""
    events = _sorted(classes)
    schemas = _schemas(events, "#/$defs/{name}")
    topics = [cls.topic_name() for cls in events]
    return {
        "$schema": DIALECT,
        "title": "Events of Cortex",
        "description": "The body of an event, decoded from msgpack; its topic says which it is.",
        "oneOf": [{"$ref": f"#/$defs/{topic}"} for topic in topics],
        "$defs": schemas,
    }


def asyncapi_document(classes: Iterable[type[Event]], version: str) -> dict[str, Any]:
    """The bus as an AsyncAPI document of *version*, from the view of a client."""
    events = _sorted(classes)
    return {
        "asyncapi": ASYNCAPI,
        "info": {
            "title": "Cortex bus",
            "version": version,
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/msgpack",
        "servers": {
            "machine": {
                "host": "bus.sock",
                "protocol": "ipc",
                "description": "A Unix socket in the home, for programs of its owner's.",
            },
            "network": {
                "host": "{host}:{port}",
                "protocol": "tls+tcp",
                "variables": {"host": {"default": "localhost"}, "port": {"default": "7777"}},
                "description": "TLS to a hub whose certificate is pinned by its SHA-256.",
            },
        },
        "channels": {cls.topic_name(): _channel(cls) for cls in events},
        "operations": dict(_operations(events)),
        "components": {
            "messages": {cls.topic_name(): _message(cls) for cls in events},
            "schemas": _schemas(events, "#/components/schemas/{name}"),
        },
    }


def _sorted(classes: Iterable[type[Event]]) -> list[type[Event]]:
    return sorted(classes, key=lambda cls: cls.topic_name())


def _schemas(events: list[type[Event]], template: str) -> dict[str, Any]:
    """Schemas by topic, and the definitions that they refer to; references follow *template*."""
    topics = {cls.__name__: cls.topic_name() for cls in events}
    _, found = msgspec.json.schema_components(events, ref_template="{name}")
    named = {
        topics.get(name, name): _pointed(schema, topics, template) for name, schema in found.items()
    }
    for cls in events:
        named[cls.topic_name()].update(_about(cls))
    return dict(sorted(named.items()))


def _pointed(schema: Any, topics: Mapping[str, str], template: str) -> Any:
    """*schema* with its references changed to the places in the document.

    Without `discriminator`: it is no word of JSON Schema, and the tags in a union say the same.
    """
    if isinstance(schema, dict):
        fields = cast("dict[str, Any]", schema)
        return {
            key: template.format(name=topics.get(value, value))
            if key == "$ref"
            else _pointed(value, topics, template)
            for key, value in fields.items()
            if key != "discriminator" or not isinstance(value, dict)
        }
    if isinstance(schema, list):
        entries = cast("list[object]", schema)
        return [_pointed(each, topics, template) for each in entries]
    return schema


def _about(cls: type[Event]) -> dict[str, Any]:
    """Properties of an event class that JSON Schema cannot express, as extensions."""
    about: dict[str, Any] = {
        "description": " ".join((cls.__doc__ or "").split()),
        "x-cortex-kind": _kind(cls),
        "x-cortex-schema": cls.schema,
    }
    if not issubclass(cls, Query):
        prefix, field = cls.belongs
        about["x-cortex-stream"] = f"{prefix}/{{{field}}}" if field else prefix
    if cls.routing:
        about["x-cortex-key"] = cls.routing
    return about


def _kind(cls: type[Event]) -> str:
    if issubclass(cls, Query):
        return "query"
    return "ephemeral" if issubclass(cls, Ephemeral) else "durable"


def _channel(cls: type[Event]) -> dict[str, Any]:
    topic = cls.topic_name()
    return {
        "address": topic,
        "messages": {topic: {"$ref": f"#/components/messages/{topic}"}},
    }


def _message(cls: type[Event]) -> dict[str, Any]:
    topic = cls.topic_name()
    return {
        "name": topic,
        "title": cls.__name__,
        "summary": (cls.__doc__ or "").strip().split("\n")[0],
        "payload": {"$ref": f"#/components/schemas/{topic}"},
    }


def _operations(events: list[type[Event]]) -> Iterable[tuple[str, dict[str, Any]]]:
    for cls in events:
        channel = {"$ref": f"#/channels/{cls.topic_name()}"}
        if issubclass(cls, Query):
            yield f"ask.{cls.topic_name()}", {"action": "send", "channel": channel}
            continue
        yield f"publish.{cls.topic_name()}", {"action": "send", "channel": channel}
        yield f"subscribe.{cls.topic_name()}", {"action": "receive", "channel": channel}
