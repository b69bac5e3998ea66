"""config.toml: every key is checked, and an error names the line and what was meant."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.runtime.kernel import Config, ConfigError, Home

FULL = """
durability = "full"

[preferences]
code_change = "fix_bug"
"source=ci status=failure" = "triage_ci_failure"

[context]
window = 8000
budgets.step = 500

[models]
default = "extractive"
max_cost = 2.5

[[models.use]]
name = "sonnet"
provider = "anthropic"
model = "claude-sonnet-5"
key_env = "TEAM_KEY"

[[models.use]]
name = "llama"
provider = "openai"
base_url = "http://127.0.0.1:11434/v1"
local = true
window = 32000
reasoning = "low"
code = "medium"
price_output = 0.5
max_parallel = 2
structured = "prompt"
usage_in_stream = false
max_tokens_field = "max_tokens"

[handlers.shell]
allow = ["git", "make"]
timeout_s = 60

[[components]]
use = "my.gates:TestsPass"
workers = 2
config = { command = "make test" }
"""


def test_every_key_can_be_set() -> None:
    config = Config.parse(FULL)

    assert config.durability == "full"
    assert config.preferences["source=ci status=failure"] == "triage_ci_failure"
    assert (config.context.window, config.context.budgets.step) == (8000, 500)
    assert (config.models.default, config.models.max_cost) == ("extractive", 2.5)
    sonnet, llama = config.models.use
    assert (sonnet.provider, sonnet.id, sonnet.key_env) == (
        "anthropic",
        "claude-sonnet-5",
        "TEAM_KEY",
    )
    assert (llama.local, llama.window, llama.code, llama.max_parallel) == (
        True,
        32_000,
        "medium",
        2,
    )
    assert (llama.structured, llama.usage_in_stream) == ("prompt", False)
    assert (config.handlers.shell.allow, config.handlers.shell.timeout_s) == (("git", "make"), 60)
    (component,) = config.components
    assert (component.use, component.workers) == ("my.gates:TestsPass", 2)
    assert component.config == {"command": "make test"}


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert Config.load(Home(tmp_path)) == Config()


WRONG = {
    "a near miss": ('durabilty="full"', ":1: `durabilty` is not a key: did you mean `durability`?"),
    "a near miss in a table": (
        "[context.budgets]\n\nknowledg = 4",
        ":3: `knowledg` in [context.budgets] is not a key: did you mean `knowledge`?",
    ),
    "a stranger": ("[models]\nzzz = 1", ":2: `zzz` in [models] is not a key: there are default"),
    "a wrong type": (
        "[context]\nwindow='8k'",
        ":2: `context.window` is wrong: expected an integer",
    ),
    "a wrong value": (
        'durability = "fast"',
        ':1: `durability` is wrong: expected "normal" or "full"',
    ),
    "out of range": (
        "[context]\n# small\nwindow = 0",
        ":3: `context.window` is wrong: expected an",
    ),
    "the second of several": (
        '[[components]]\nuse = "a:B"\n[[components]]\nuse = "nonsense"',
        ":4: `components.use` is wrong",
    ),
    "a key that must be there": (
        "[[components]]\nworkers = 1",
        "`components` lacks its key `use`",
    ),
    "an endless window": (
        "[[models.use]]\nname = 'a'\nprovider = 'human'\nwindow = 99999999999999999999999",
        ":4: `models.use.window` is wrong: expected an integer <= 1000000000",
    ),
    "more calls than there can be": (
        "[[models.use]]\nname = 'a'\nprovider = 'human'\nmax_parallel = 10000000000",
        ":4: `models.use.max_parallel` is wrong: expected an integer <= 10000",
    ),
    "an endless context": (
        "[context]\nwindow = 99999999999999999999999",
        ":2: `context.window` is wrong: expected an integer <= 1000000000",
    ),
    "an endless budget": (
        "[context.budgets]\nstep = 1000000001",
        ":2: `context.budgets.step` is wrong: expected an integer <= 1000000000",
    ),
    "more workers than there can be": (
        '[[components]]\nuse = "a:B"\nworkers = 18446744073709551616',
        ":3: `components.workers` is wrong: expected an integer <= 1000",
    ),
    "a value for a table": (
        "context = 3",
        ":1: `context` is wrong: expected a table, got an integer",
    ),
    "a dotted key": ("[handlers]\nshell.timeout_s = -1", ":2: `handlers.shell.timeout_s` is wrong"),
    "no value": ("a = \nb = 2", ":1: is not TOML: invalid value"),
    "an open bracket": ("[context", ": is not TOML at its end: expected ']'"),
}


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_what_is_wrong_is_one_line_with_the_place_and_what_was_expected(case: str) -> None:
    text, expected = WRONG[case]

    with pytest.raises(ConfigError) as raised:
        Config.parse(text, "config.toml")

    assert str(raised.value).startswith("config.toml:")
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ConfigError, match=r"config.toml: cannot be read: it is not UTF-8 text"):
        Config.shown(Home(tmp_path))


@given(text=st.text(st.sampled_from('[]"=.#a1 \n'), max_size=60))
def test_any_text_is_taken_or_refused_with_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(Config.parse(text), Config)


def test_the_template_sets_durability_alone_and_shows_every_key() -> None:
    template = Config.template()
    uncommented = "\n".join(
        line.removeprefix("# ") for line in template.splitlines() if not line.startswith("#  ")
    )

    assert Config.parse(template) == Config(durability="full")
    assert Config().durability == "normal"  # a home that says nothing was made before
    shown = (f"\n# {key.name} = " in template or f"# [{key.name}]" in template for key in KEYS)
    assert [key.name for key, there in zip(KEYS, shown, strict=True) if not there] == ["durability"]
    assert "[[components]]" in uncommented


KEYS = tuple(Config.keys())
INTEGERS = [(key.header, key.name) for key in KEYS if key.type == "integer"]


@pytest.mark.parametrize(("header", "name"), INTEGERS)
def test_every_integer_has_an_upper_bound(header: str, name: str) -> None:
    with pytest.raises(ConfigError, match=rf":2: .*{name}. is wrong: expected an integer <= "):
        Config.parse(f"{header}\n{name} = {1 << 80}", "config.toml")


def test_every_key_says_what_it_is_for() -> None:
    assert [key.name for key in KEYS if not key.description] == []


def test_the_template_shows_defaults_and_says_of_an_example_that_it_is_none() -> None:
    shown = iter(Config.template().splitlines())
    for key in KEYS:
        if key.type.startswith("table of") or key.name == "durability":
            continue
        line = next(line for line in shown if line.startswith(f"# {key.name} = "))
        value = line.removeprefix(f"# {key.name} = ")
        assert (
            value == key.default if key.default else value.endswith("  # for example: it is unset")
        )


def test_a_table_in_an_entry_stands_among_the_keys_of_that_entry() -> None:
    template = Config.template()
    servers = template.partition("# [[tools.mcp]]")[2].partition("\n# [")[0]
    assert "# effects = {}" in servers
    assert "# [effects]" not in template
