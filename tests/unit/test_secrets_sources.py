"""A secret comes from a variable or from the system's keyring."""

from typing import Any

import pytest

from cortex.runtime.kernel import Config, mask_for
from cortex.runtime.secrets import SecretUnavailableError, is_set, place_of, secret_value

CONFIGURED = """
[[models.use]]
name = "away"
provider = "openai"
base_url = "http://127.0.0.1:9/v1"
key_env = "keyring:team/openai"
"""


def test_a_variable_is_read_as_it_is_now() -> None:
    assert secret_value("KEY", {"KEY": "k"}) == "k"
    assert secret_value("KEY", {}) == ""
    assert secret_value("", {"": "k"}) == ""
    assert place_of("KEY") == "the environment variable KEY"


def test_an_entry_of_the_keyring_is_a_key_of_a_model_and_is_masked(keyring_in_memory: Any) -> None:
    keyring_in_memory.set_password("team", "openai", "opensesame 1234")

    config = Config.parse(CONFIGURED)

    assert config.models.use[0].key_env == "keyring:team/openai"
    assert secret_value("keyring:team/openai") == "opensesame 1234"
    assert is_set("keyring:team/openai")
    assert "opensesame" not in mask_for(config, environment={}).text("said: opensesame 1234")
    assert place_of("keyring:team/openai") == "the entry team/openai of the keyring"


def test_a_keyring_that_is_locked_or_has_no_such_entry_says_so(keyring_in_memory: Any) -> None:
    assert secret_value("keyring:team/none") == ""
    keyring_in_memory.get_keyring().locked = True

    with pytest.raises(SecretUnavailableError, match="it is locked: unlock the keyring"):
        secret_value("keyring:team/openai")
    assert not is_set("keyring:team/openai")


def test_a_system_without_a_keyring_says_so_in_one_line_of_ours(keyring_in_memory: Any) -> None:
    fail: Any = pytest.importorskip("keyring.backends.fail")
    keyring_in_memory.set_keyring(fail.Keyring())

    with pytest.raises(SecretUnavailableError) as caught:
        secret_value("keyring:team/openai")

    assert str(caught.value) == (
        "the secret keyring:team/openai cannot be read: this system has no keyring that can be "
        "used: put the secret into an environment variable, and name that instead"
    )


@pytest.mark.parametrize("error", [EOFError(), ValueError("Incorrect\nPassword."), OSError(5, "x")])
def test_whatever_a_keyring_raises_is_one_line(keyring_in_memory: Any, error: Exception) -> None:
    keyring_in_memory.get_keyring().fails = error

    with pytest.raises(SecretUnavailableError) as caught:
        secret_value("keyring:team/openai")

    assert f"the keyring failed with {type(error).__name__}: " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not is_set("keyring:team/openai")


@pytest.mark.parametrize("reference", ["keyring:", "keyring:openai", "keyring:/openai"])
def test_a_reference_that_names_no_entry_is_refused(reference: str) -> None:
    with pytest.raises(SecretUnavailableError, match="write it as keyring:SERVICE/NAME"):
        secret_value(reference)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1234/v1", "https://api.example.org/v1"])
def test_the_word_that_a_server_on_this_machine_wants_for_a_key_is_no_secret(url: str) -> None:
    """Masked, it would be gone from the names of processes and models, and nothing would run."""
    lines = ("[[models.use]]", 'name = "m"', 'provider = "openai"', 'key_env = "KEY"')
    numbers = ("window = 8000", "price_input = 0", "price_output = 0")
    config = Config.parse("\n".join((*lines, *numbers, f'base_url = "{url}"')))
    here = url.startswith("http://127")

    word = mask_for(config, environment={"KEY": "lm-studio"})
    key = mask_for(config, environment={"KEY": "lm-studio-0123"})

    assert (word.text("process: lm-studio") == "process: lm-studio") is here
    assert "0123" not in key.text("process: lm-studio-0123")
