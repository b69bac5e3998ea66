"""The guide to the cache: its example runs, and its defaults are those of the code."""

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from cortex.runtime.cache import CacheConfig

GUIDE = Path(__file__).parents[2] / "docs" / "cache.md"
pytestmark = pytest.mark.skipif(not GUIDE.is_file(), reason="docs/ is not beside this test")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def test_the_example_runs_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("python")

    exec(compile(example, str(GUIDE), "exec"), {})  # it is what the guide shows

    assert capsys.readouterr().out == "0\n"


def test_the_settings_it_shows_are_the_defaults() -> None:
    (shown,) = blocks("toml")

    assert tomllib.loads(shown) == {"cache": msgspec.structs.asdict(CacheConfig())}
