"""The documents about the language say what the code does; skipped where there is no checkout."""

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from cortex.runtime.processes import (
    RULES,
    keys_of_the_language,
    language_schema,
)

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RELEASE = Path(__file__).parents[1] / "fixtures" / "processes" / "release.yaml"

in_a_checkout = pytest.mark.skipif(not DOCS.is_dir(), reason=f"no documents at {DOCS}")


@in_a_checkout
def test_the_reference_of_codes_is_in_step() -> None:
    written = (DOCS / "diagnostics.md").read_text()

    script = ROOT / "dev" / "diagnostic_docs.py"
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    assert written == docs.text(), "run python dev/diagnostic_docs.py"


@in_a_checkout
def test_every_key_is_explained() -> None:
    text = (DOCS / "process-language.md").read_text()

    missing = {
        f"{record}: {name}"
        for record, name, _ in keys_of_the_language()
        if not re.search(rf"`{name}`|^ *(- )?{name}:|[{{ ]{name}:", text, re.MULTILINE)
    }

    assert missing == set()


@in_a_checkout
def test_every_yaml_example_is_yaml() -> None:
    text = (DOCS / "process-language.md").read_text()

    examples = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)

    assert len(examples) > 8
    for example in examples:
        yaml.safe_load(example)


def test_codes_are_stable() -> None:
    assert sorted(RULES) == (
        [f"P0{number:02}" for number in range(1, 16)]
        + [f"P1{number:02}" for number in range(1, 14)]
        + [f"P2{number:02}" for number in range(1, 22)]
        + [f"P3{number:02}" for number in range(1, 17)]
        + [f"P4{number:02}" for number in range(1, 22)]
        + ["P501", "P502"]
    )
    assert [code for code, rule in RULES.items() if rule.severity == "warning"] == [
        "P012",
        "P208",
        "P210",
        "P215",
        "P221",
        "P411",
        "P415",
        "P419",
    ]


def test_the_schema_for_editors_knows_every_key_that_the_fixture_uses() -> None:
    process, interface = language_schema()["oneOf"]

    for document in yaml.safe_load_all(RELEASE.read_text()):
        schema = process if "process" in document else interface
        assert set(document) <= set(schema["properties"])
        assert set(schema["required"]) <= set(document)
    step = process["properties"]["steps"]["items"]["anyOf"][0]
    assert step["additionalProperties"] is False
    assert step["properties"]["needs"]["properties"]["reasoning"]["enum"] == [
        "low",
        "medium",
        "high",
    ]
