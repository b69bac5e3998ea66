"""What `cortex events schema` prints: valid by the validators of its own standards, and true."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from jsonschema import Draft7Validator, Draft202012Validator

from cortex.bus import Event, Query
from cortex.bus.events import VOCABULARY

from .test_events_vocabulary import filled, ids

COMMANDS: Any = import_module("cortex.runtime.cli.commands.events").events
FIXTURE = Path(__file__).parents[1] / "fixtures" / "asyncapi" / "asyncapi-3.0.0.json"
CLASSES = sorted(VOCABULARY, key=lambda cls: cls.topic_name())


def printed(*args: str) -> dict[str, Any]:
    done = CliRunner().invoke(COMMANDS, ["schema", *args], catch_exceptions=False)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return printed()


@pytest.fixture(scope="module")
def asyncapi() -> dict[str, Any]:
    return printed("--asyncapi")


def test_the_schemas_are_valid_json_schema(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    for each in schema["$defs"].values():
        Draft202012Validator.check_schema(each)

    assert {cls.topic_name() for cls in CLASSES} <= schema["$defs"].keys()


@pytest.mark.parametrize("cls", CLASSES, ids=ids)
def test_an_event_fits_its_own_schema_and_no_other(
    cls: type[Event], schema: dict[str, Any]
) -> None:
    body = msgspec.msgpack.decode(msgspec.msgpack.encode(filled(cls)))

    Draft202012Validator(schema).validate(body)
    assert not Draft202012Validator(schema).is_valid({**body, "topic": "no.such"})


def test_what_does_not_fit_is_refused(schema: dict[str, Any]) -> None:
    check = Draft202012Validator(schema)
    given = {"topic": "grant.given", "client": "alice", "token_sha256": "a"}

    assert check.is_valid(given)
    assert not check.is_valid({**given, "publish": "step.*"})
    assert not check.is_valid({"topic": "grant.given", "client": "alice"})


def test_the_asyncapi_document_is_valid_by_the_official_schema(asyncapi: dict[str, Any]) -> None:
    official = json.loads(FIXTURE.read_text("utf-8"))

    problems = [
        f"{e.json_path}: {e.message[:200]}" for e in Draft7Validator(official).iter_errors(asyncapi)
    ]

    assert problems == []


def test_the_official_schema_would_notice(asyncapi: dict[str, Any]) -> None:
    official = Draft7Validator(json.loads(FIXTURE.read_text("utf-8")))

    assert not official.is_valid({**asyncapi, "asyncapi": "2.6.0"})
    assert not official.is_valid({**asyncapi, "channels": {"a": {"adress": "a"}}})


def test_every_reference_leads_somewhere(asyncapi: dict[str, Any], schema: dict[str, Any]) -> None:
    for document in (asyncapi, schema):
        for pointer in references(document):
            found: Any = document
            for part in pointer.removeprefix("#/").split("/"):
                found = found[part]
            assert found, pointer


def test_every_event_has_a_channel_and_can_be_published_or_asked(asyncapi: dict[str, Any]) -> None:
    for cls in CLASSES:
        topic = cls.topic_name()
        verbs = ("ask",) if issubclass(cls, Query) else ("publish", "subscribe")
        assert asyncapi["channels"][topic]["address"] == topic
        assert all(f"{verb}.{topic}" in asyncapi["operations"] for verb in verbs)


def test_one_topic_can_be_asked_for() -> None:
    assert printed("step.completed")["$defs"].keys() == {"step.completed"}
    assert printed("step.completed", "--json") == printed("step.completed")


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [each for inner in value.values() for each in references(inner)]
    if isinstance(value, list):
        return [each for inner in value for each in references(inner)]
    return []
