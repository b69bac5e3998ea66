"""Inputs as they are typed become what the process declares, or a clear refusal."""

from pathlib import Path

import pytest

from cortex.runtime.processes import Field
from cortex.runtime.sessions import ArgumentError, inputs_of, pairs_of, scalar

FIELDS = (
    Field(name="log", type="path"),
    Field(name="times", type="integer"),
    Field(name="names", type="list"),
    Field(name="really", type="boolean"),
    Field(name="title", type="string"),
)


def test_values_are_read_as_the_process_declares_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = {"log": "ci.log", "times": "3", "names": '["a"]', "really": "true", "title": "3"}

    assert inputs_of(pairs, None, FIELDS) == {
        "log": str(tmp_path / "ci.log"),
        "times": 3,
        "names": ["a"],
        "really": True,
        "title": "3",
    }


@pytest.mark.parametrize(
    ("name", "text"), [("in.json", '{"title": "a"}'), ("in.toml", 'title = "a"')]
)
def test_a_file_gives_inputs_and_the_command_line_goes_over_it(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)

    assert inputs_of({}, tmp_path / name, FIELDS) == {"title": "a"}
    assert inputs_of({"title": "b"}, tmp_path / name, FIELDS) == {"title": "b"}


@pytest.mark.parametrize(
    ("name", "value"), [("times", "three"), ("names", "a,b"), ("really", "yes")]
)
def test_a_value_of_the_wrong_type_is_refused_with_an_example(name: str, value: str) -> None:
    with pytest.raises(ArgumentError, match=f"{name} is '{value}', expected an? .* such as"):
        inputs_of({name: value}, None, FIELDS)


def test_a_file_nested_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)

    with pytest.raises(ArgumentError, match=r"nested too deeply|neither JSON nor TOML"):
        inputs_of({}, tmp_path / "deep.json", FIELDS)


def test_a_value_may_hold_an_equals_sign() -> None:
    assert pairs_of(["command=a=b"], "NAME") == {"command": "a=b"}


def test_the_fields_of_a_trigger_are_read_as_yaml_would() -> None:
    assert [scalar(text) for text in ("true", "3", "0.5", "failure", "")] == [
        True,
        3,
        0.5,
        "failure",
        "",
    ]
