"""The export for process mining fits OCEL 2.0, and PM4Py opens it.

`CORTEX_PM4PY` names a Python that has PM4Py, if that which runs the tests has not.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cortex.bus import as_map, decode
from cortex.runtime.exports import export_to
from cortex.runtime.kernel import Home

from .export_world import records
from .old_homes import VERSIONS, OldHome

TEXT: dict[str, Any] = {"type": "string"}
TIME: dict[str, Any] = {"type": "string", "format": "date-time"}


def rows(*required: str, **properties: Any) -> dict[str, Any]:
    found = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "array", "items": found | {"additionalProperties": False}}


TYPES = rows(
    "name", "attributes", name=TEXT,
    attributes=rows(
        "name", "type", name=TEXT,
        type={"enum": ["string", "time", "integer", "float", "boolean"]},
    ),
)  # fmt: skip
RELATED = rows("objectId", "qualifier", objectId=TEXT, qualifier=TEXT)
# As the specification of OCEL 2.0 has it, section 6: values of attributes are texts. It demands all
# that the standard's ocel20-schema-json.json does; in addition, a type has to be one of the five,
# and there may be no further properties.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "eventTypes": TYPES,
        "objectTypes": TYPES,
        "events": rows(
            "id", "type", "time", id=TEXT, type=TEXT, time=TIME, relationships=RELATED,
            attributes=rows("name", "value", name=TEXT, value=TEXT),
        ),
        "objects": rows(
            "id", "type", id=TEXT, type=TEXT, relationships=RELATED,
            attributes=rows("name", "value", "time", name=TEXT, value=TEXT, time=TIME),
        ),
    },
    "required": ["eventTypes", "objectTypes", "events", "objects"],
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return OldHome(VERSIONS[-1], "rested", tmp_path_factory.mktemp("ocel")).home


@pytest.fixture(scope="module")
def file(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("out") / "log.json"
    export_to(home, path, form="ocel")
    return path


@pytest.fixture(scope="module")
def document(file: Path) -> Any:
    return json.loads(file.read_bytes())


def test_it_fits_the_schema(document: Any) -> None:
    jsonschema.validate(document, SCHEMA, format_checker=jsonschema.FormatChecker())
    for each in document["events"]:
        datetime.fromisoformat(each["time"])


def test_every_event_is_there_with_the_objects_that_it_is_about(home: Home, document: Any) -> None:
    whole = [decode(data) for data in records(home)]

    assert [each["type"] for each in document["events"]] == [record.topic for record in whole]
    for each, record in zip(document["events"], whole, strict=True):
        related = {(it["objectId"], it["qualifier"]) for it in each["relationships"]}
        assert (f"component:{record.source}", "publisher") in related
        body = as_map(record)
        if execution := body.get("execution_id"):
            assert (f"execution:{execution}", "execution") in related
            if step := body.get("step_id"):
                assert (f"step:{execution}/{step}", "step") in related


def test_names_and_types_agree_throughout(document: Any) -> None:
    objects = {each["id"]: each for each in document["objects"]}
    assert len(objects) == len(document["objects"])
    kinds = Counter(each["type"] for each in objects.values())
    assert {"execution", "step", "process", "component"} <= kinds.keys()
    for kind in ("event", "object"):
        declared = {
            each["name"]: {one["name"] for one in each["attributes"]}
            for each in document[f"{kind}Types"]
        }
        for each in document[f"{kind}s"]:
            assert {one["name"] for one in each["attributes"]} <= declared[each["type"]]
            names = [one["name"] for one in each["attributes"]]
            assert kind == "object" or len(names) == len(set(names))
    for each in (*document["events"], *document["objects"]):
        assert {it["objectId"] for it in each["relationships"]} <= objects.keys()


def test_objects_tell_what_became_of_them(home: Home, document: Any) -> None:
    ended = {
        record.stream.removeprefix("execution/")
        for record in map(decode, records(home))
        if record.topic == "execution.completed"
    }
    assert ended

    for each in document["objects"]:
        said = [one["value"] for one in each["attributes"] if one["name"] == "status"]
        times = [one["time"] for one in each["attributes"]]
        assert times == sorted(times)
        if each["type"] == "execution" and each["id"].removeprefix("execution:") in ended:
            assert said[0] == "requested"
            assert said[-1] == "completed"
        if each["type"] == "step":
            (within,) = each["relationships"]
            assert within["qualifier"] == "step of"
            assert each["id"].startswith(f"step:{within['objectId'].removeprefix('execution:')}/")


def test_pm4py_opens_it(file: Path, document: Any) -> None:
    python = os.environ.get("CORTEX_PM4PY", sys.executable)
    if python == sys.executable and importlib.util.find_spec("pm4py") is None:
        pytest.skip("pm4py is not installed: pip install 'cortex-runtime[process-mining]'")
    program = (
        "import sys, json, pm4py\n"
        "log = pm4py.read_ocel2_json(sys.argv[1])\n"
        "types = sorted(pm4py.ocel_get_object_types(log))\n"
        "graph = pm4py.discover_ocdfg(log)\n"
        "print(json.dumps([len(log.events), len(log.objects), types, sorted(graph['activities'])]))"
    )

    done = subprocess.run(
        [python, "-Ic", program, str(file)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    events, objects, types, activities = json.loads(done.stdout.splitlines()[-1])
    assert (events, objects) == (len(document["events"]), len(document["objects"]))
    assert types == sorted({each["type"] for each in document["objects"]})
    assert activities == sorted({each["type"] for each in document["events"]})
