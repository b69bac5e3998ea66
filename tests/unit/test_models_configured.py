"""Models in config.toml: what is refused, what is filled in, and what never leaves the process."""

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.kernel import Config, ConfigError
from cortex.runtime.models import (
    ASSUMED_WINDOW,
    ModelConfig,
    ModelConfigError,
    ModelDescription,
    ModelsConfig,
    Price,
    address_of,
    catalogue,
    describe,
    endpoint_of,
    endpoints,
)

SECRET = "sk-ant-api03-Zm9vYmFyYmF6cXV4"
LLAMA = 'name = "llama"\nprovider = "openai"\nbase_url = "http://127.0.0.1:8080/v1"\nlocal = true\n'


def used(*tables: str) -> ModelsConfig:
    text = "".join(f"[[models.use]]\n{table}\n" for table in tables)
    return Config.parse(text).models


def refused(table: str) -> str:
    with pytest.raises(ConfigError) as raised:
        Config.parse(f"[[models.use]]\n{LLAMA}[[models.use]]\n{table}", "config.toml")
    assert "\n" not in str(raised.value)
    return str(raised.value)


WRONG = {
    "a name that is taken": (LLAMA, ":7: `models.use.name` is wrong: another model is called"),
    "the embedded model's name": (
        'provider = "openai"\nname = "extractive"',
        ":8: `models.use.name` is wrong: extractive is the embedded model",
    ),
    "a name with blanks": ('name = "a b"\nprovider = "x"', ":7: `models.use.name` is wrong"),
    "a provider in capitals": ('name = "a"\nprovider = "OpenAI"', ":8: `models.use.provider`"),
    "no provider": ('name = "a"', "`models.use` lacks its key `provider`"),
    "an unknown level": (
        'name = "a"\nprovider = "human"\ncode = "superb"',
        ':9: `models.use.code` is wrong: expected "low" or "medium" or "high"',
    ),
    "a near miss": (
        'name = "a"\nprovider = "human"\nbase_ur = "x"',
        ":9: `base_ur` in [models.use] is not a key: did you mean `base_url`?",
    ),
    "a remote endpoint as local": (
        'name = "a"\nprovider = "openai"\nlocal = true\nbase_url = "https://10.0.0.7/v1"',
        ":9: `models.use.local` is wrong: 10.0.0.7:443 is not on this host",
    ),
    "the vendor's endpoint as local": (
        'name = "a"\nprovider = "anthropic"\nlocal = true',
        ":9: `models.use.local` is wrong: api.anthropic.com:443 is not on this host",
    ),
    "a stranger without endpoint as local": (
        'name = "a"\nprovider = "mine"\nlocal = true',
        ":9: `models.use.local` is wrong: set base_url, too",
    ),
    "plain http to another host": (
        'name = "a"\nprovider = "openai"\nbase_url = "http://llm.example/v1"',
        ":9: `models.use.base_url` is wrong: plain http to llm.example:80 shows prompts",
    ),
    "no URL": ('name = "a"\nprovider = "openai"\nbase_url = "localhost"', ":9: `models.use.base_"),
    "a price below nothing": (
        'name = "a"\nprovider = "openai"\nprice_input = -1',
        ":9: `models.use.price_input` is wrong: expected a number >= 0",
    ),
    "an endless price": (
        'name = "a"\nprovider = "openai"\nprice_input = inf',
        ":9: `models.use.price_input` is wrong: expected a number <= 1000000",
    ),
    "a price that nobody knows": (
        'name = "a"\nprovider = "openai"\nmodel = "gpt-5-pro"',
        ":6: `models.use.price_input` is wrong: it is not set, and the price of 'gpt-5-pro' is",
    ),
    "a gateway's price": (
        'name = "a"\nprovider = "openai"\nmodel = "gpt-5"\nbase_url = "https://llm.example/v1"',
        ":6: `models.use.price_input` is wrong: it is not set",
    ),
    "half a price": (
        'name = "a"\nprovider = "openai"\nmodel = "gpt-5-pro"\nprice_input = 1.0',
        ":6: `models.use.price_output` is wrong: it is not set",
    ),
    "a person behind a URL": (
        'name = "a"\nprovider = "human"\nbase_url = "https://llm.example/v1"',
        ":9: `models.use.base_url` is wrong: human has no endpoint: leave base_url out",
    ),
    "a replay of nothing": ('name = "a"\nprovider = "replay"', ":8: `models.use.provider` is wro"),
    "a variable with a dollar": (
        'name = "a"\nprovider = "human"\nkey_env = "$KEY"',
        ":9: `models.use.key_env` is wrong: expected the name of an environment variable",
    ),
}


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_what_cannot_be_is_one_line_with_the_place(case: str) -> None:
    table, expected = WRONG[case]

    assert expected in refused(table)


@pytest.mark.parametrize(
    "key",
    [
        SECRET,
        "sk-x",
        "gsk_abcdefghijklmnopqrstuv",
        "AIzaSyA1234567890abcdefghij",
        "0123456789abcdef0123456789abcdef",
        "Xy7Xy7Xy7Xy7Xy7Xy7Xy7Xy7",
    ],
)
def test_a_key_in_place_of_its_variable_is_refused_and_not_repeated(key: str) -> None:
    said = refused(f'name = "a"\nprovider = "openai"\nkey_env = "{key}"')

    assert ":9: `models.use.key_env` is wrong: this looks like a key itself" in said
    assert key not in said


PASTED = [
    "sk-proj-abcdefghijklmnop1234",
    SECRET,
    "AKIAIOSFODNN7EXAMPLEQQ",
    "ghp_abcdefghijklmnop1234ABCDEFGH",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize("where", ["name", "model"])
@pytest.mark.parametrize("key", PASTED)
def test_a_key_in_place_of_a_name_is_refused_and_not_repeated(where: str, key: str) -> None:
    table = {"name": "a", "provider": "openai"} | {where: key}

    said = refused("\n".join(f'{name} = "{value}"' for name, value in table.items()))

    assert f"`models.use.{where}` is wrong: this looks like a key itself" in said
    assert key not in said


@pytest.mark.parametrize(
    "model",
    [
        "Qwen/Qwen2.5-Coder-32B-Instruct-AWQ",
        "skywork-13b-base-chat",
        "patched-llama-70b-instruct",
        "xai-grok-4-fast-reasoning",
        "ft:gpt-4.1-mini-2025-04-14:acme::Bx7Yz91q",
        "anthropic.claude-haiku-4-5-20251001-v1:0",
        "/srv/models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
    ],
)
def test_what_models_are_called_is_not_taken_for_a_key(model: str) -> None:
    (used_,) = used(f'{LLAMA}model = "{model}"').use

    assert used_.id == model


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "KEY", "openai_key", "SK_TEAM_7"])
def test_names_of_variables_are_taken(variable: str) -> None:
    (model,) = used(f'name = "a"\nprovider = "human"\nkey_env = "{variable}"').use

    assert model.key_env == variable


@pytest.mark.parametrize(
    "url",
    [
        f"https://user:{SECRET}@llm.example/v1",
        f"https://{SECRET}@127.0.0.1/v1",
        f"https://llm.example/v1?key={SECRET}",
        "http://127.0.0.1\\\\@llm.example/v1",
        "http://127.0.0.1 .llm.example/",
        "http://127.0.0.1:99999/v1",
        "http://[::zz]/v1",
        "ftp://127.0.0.1/",
        "http://127.0.0.1/v1/../../x",
        "http://127.0.0.1/v1/..",
        "http://127.0.0.1/./v1",
        "http://127.0.0.1/v1/%2e%2E/x",
        "http://127.0.0.1/v1/%2e%2e%2fx",
        f"http://127.0.0.1/v1/{SECRET}",
        "unix://relative",
    ],
)
def test_credentials_and_what_two_parsers_read_as_two_hosts_are_no_url(url: str) -> None:
    said = refused(f'name = "a"\nprovider = "openai"\nlocal = true\nbase_url = "{url}"')

    assert ":10: `models.use.base_url` is wrong: expected `https://HOST/PATH`" in said
    assert SECRET not in said


def test_an_error_outside_a_file_is_of_the_tree_and_names_the_key() -> None:
    with pytest.raises(ModelConfigError, match=r"local: api\.openai\.com:443 is not on this host"):
        ModelConfig(name="a", provider="openai", local=True)


HERE = ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.8.9.1", "[::ffff:127.0.0.1]"]
THERE = ["0.0.0.0", "10.0.0.1", "[::]", "[fe80::1]", "localhost.example", "2130706433", "0x7f.1"]


@pytest.mark.parametrize("host", HERE)
def test_loopback_is_this_host(host: str) -> None:
    address = address_of(f"http://{host}:11434/v1")

    assert address is not None
    assert address.on_this_host


@pytest.mark.parametrize("host", THERE)
def test_every_other_address_is_another_host(host: str) -> None:
    address = address_of(f"https://{host}/v1")

    assert address is None or not address.on_this_host


@given(
    table=st.fixed_dictionaries(
        {"name": st.just("a"), "provider": st.sampled_from(["openai", "anthropic", "mine"])},
        optional={
            "base_url": st.one_of(
                st.text("htps:/.@\\[]1270locaexmp-?# ", max_size=24),
                st.sampled_from([f"https://{host}/v1" for host in HERE + THERE]),
            ),
            "local": st.booleans(),
            "insecure": st.booleans(),
            "price_input": st.just(1.0),
            "price_output": st.just(2.0),
        },
    )
)
@settings(max_examples=400, deadline=None)
def test_what_is_described_as_local_is_on_this_host(table: dict[str, object]) -> None:
    try:
        model = msgspec.convert(table, ModelConfig)
    except msgspec.ValidationError:
        return

    (described,) = describe(ModelsConfig(use=(model,)))

    if described.local:
        assert model.address is not None
        assert model.address.on_this_host


def test_the_catalogue_fills_what_is_left_out_at_the_vendors_endpoint() -> None:
    models = used('name = "haiku"\nprovider = "anthropic"\nmodel = "claude-haiku-4-5-20251001"')

    (described,) = describe(models)

    assert described == ModelDescription(
        name="haiku",
        provider="anthropic",
        model="claude-haiku-4-5-20251001",
        window=200_000,
        local=False,
        reasoning="medium",
        code="medium",
        speed="high",
        price=Price(input=1.0, cached_read=0.1, cached_write=1.25, output=5.0),
        caching=catalogue().caching("anthropic", "claude-haiku-4-5"),
    )
    endpoint = endpoints(models, "anthropic")["haiku"]
    assert (endpoint.base_url, endpoint.key_env) == (
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
    )
    assert endpoint.structured == "native"
    assert endpoints(models, "openai") == {}


def test_what_is_set_wins_key_by_key() -> None:
    (described,) = describe(
        used('name = "gpt-5"\nprovider = "openai"\nwindow = 9000\ncode = "low"\nprice_output = 1.0')
    )

    assert (described.model, described.window, described.code) == ("gpt-5", 9_000, "low")
    assert described.reasoning == "high"
    assert described.price == Price(input=1.25, cached_read=0.125, cached_write=1.25, output=1.0)


def test_whoever_sets_a_price_and_none_for_cached_tokens_pays_it_for_them() -> None:
    (described,) = describe(
        used('name = "gpt-5"\nprovider = "openai"\nprice_input = 2.0\nprice_output = 3.0')
    )

    assert described.price == Price(input=2.0, cached_read=2.0, cached_write=2.0, output=3.0)


def test_a_model_on_this_host_costs_nothing_and_gets_no_vendors_key() -> None:
    endpoint = endpoint_of(used(LLAMA).use[0])

    assert endpoint.key_env == ""
    assert (endpoint.structured, endpoint.max_tokens_field) == ("prompt", "max_tokens")
    assert endpoint.description.price == Price()
    assert endpoint.description.window == ASSUMED_WINDOW
    assert endpoint.description.local


def test_a_loopback_endpoint_is_local_only_where_that_is_said() -> None:
    (described,) = describe(used(LLAMA.replace("local = true\n", "")))

    assert not described.local


def test_the_vendors_key_goes_to_no_other_endpoint() -> None:
    table = 'name = "a"\nprovider = "openai"\nbase_url = "https://llm.example/v1"\n'
    prices = "price_input = 1\nprice_output = 2\n"

    assert endpoint_of(used(table + prices).use[0]).key_env == ""
    (named,) = used(table + prices + 'key_env = "EXAMPLE_KEY"').use
    assert endpoint_of(named).key_env == "EXAMPLE_KEY"


def test_an_address_reads_as_it_is_written() -> None:
    written = ["127.0.0.1:80", "[::1]:8080", "unix:///run/a.sock"]

    read = [address_of(f"http://{each}" if "unix" not in each else each) for each in written]

    assert [str(each) for each in read] == written


def test_a_unix_socket_is_this_host() -> None:
    (model,) = used(
        'name = "a"\nprovider = "openai"\nbase_url = "unix:///run/llama.sock"\nlocal = true'
    ).use

    endpoint = endpoint_of(model)

    assert (endpoint.socket, endpoint.base_url) == ("/run/llama.sock", "http://localhost/v1")


def test_providers_without_an_endpoint_are_local_and_free() -> None:
    models = used('name = "me"\nprovider = "human"', 'name = "r"\nprovider = "replay"\nlog = "x"')

    assert [(m.local, m.price) for m in describe(models)] == [(True, Price())] * 2
    assert [endpoint_of(m).base_url for m in models.use] == ["", ""]


def test_what_is_announced_holds_neither_endpoint_nor_key_variable() -> None:
    said = msgspec.json.encode(describe(used(LLAMA + 'key_env = "LLAMA_KEY"'))).decode()

    assert "LLAMA_KEY" not in said
    assert "127.0.0.1" not in said


def test_the_configurations_that_the_guide_shows_are_right() -> None:
    guide = Path(__file__).parents[2] / "docs" / "models.md"

    blocks = re.findall(r"```toml\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)

    named = [[model.name for model in Config.parse(block).models.use] for block in blocks]
    assert named == [["sonnet", "luna"], ["qwen"]]


VALUE = st.one_of(
    st.sampled_from(["true", "false", "1", "-1", "0.5", "inf", "nan", "[]", "{}", "[[1]]"]),
    st.sampled_from(['"low"', '"native"', '""', '"a"', '"http://127.0.0.1/v1"']),
)
KEYS = st.sampled_from([key.name for key in Config.keys() if key.table == ("models", "use")])  # noqa: SIM118


@given(tables=st.lists(st.dictionaries(KEYS, VALUE, max_size=5), max_size=3))
@settings(max_examples=400, deadline=None)
def test_any_table_is_taken_or_refused_in_one_line_with_its_place(
    tables: list[dict[str, str]],
) -> None:
    lines = [["[[models.use]]", *(f"{k} = {v}" for k, v in table.items())] for table in tables]
    text = "\n".join(line for table in lines for line in table)

    said = ""
    try:
        assert len(describe(Config.parse(text, "config.toml").models)) == len(tables)
    except ConfigError as error:
        said = str(error)

    assert not said or re.match(r"config\.toml(:\d+)?: `models\.use", said)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("given", "meant"),
    [("opnai", "openai"), ("opneai", "openai"), ("antropic", "anthropic"), ("humna", "human")],
)
def test_a_misspelled_provider_is_named_before_anything_else(given: str, meant: str) -> None:
    said = refused(f'name = "x"\nprovider = "{given}"\nmodel = "gpt"\n')

    assert "`models.use.provider` is wrong" in said
    assert f"there is no provider '{given}': did you mean '{meant}'?" in said


@pytest.mark.parametrize("own", ["openai2", "team-openai", "thinkers", "mistral", "humane_corpus"])
def test_a_provider_of_ones_own_may_be_called_anything_else(own: str) -> None:
    used(f'name = "x"\nprovider = "{own}"\nprice_input = 0\nprice_output = 0\n')
