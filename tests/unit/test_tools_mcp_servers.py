"""Servers of tools in config.toml: what is refused, and that no message repeats a secret."""

import pytest

from cortex.runtime.kernel import Config, ConfigError

TOKEN = "ghp_abcdefghijklmnop1234ABCDEFGH"


def config(*lines: str) -> str:
    return "\n".join(("[[tools.mcp]]", 'name = "a"', *lines, ""))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (('url = "http://far.example/mcp"', 'key_env = "X"'), "plain http to far.example:80"),
        (('url = "https://me:s3cret@far.example/mcp"',), "without user, password or query"),
        (('url = "https://far.example/mcp?token=s3cret"',), "without user, password or query"),
        (('url = "http://127.0.0.1:1@far.example/s3cret"',), "without user, password or query"),
        (('url = "https://far.example/mcp"', f'key_env = "{TOKEN}"'), "looks like a key itself"),
        (('url = "https://far.example/mcp"', 'key_env = "X=s3cret"'), "expected the name of an"),
        (('command = ["x"]', f'env = ["{TOKEN}"]'), "looks like a key itself"),
        (('command = ["x"]', 'env = ["HOME", "TOKEN=s3cret"]'), "expected the name of an"),
    ],
)
def test_what_gives_a_secret_away_is_refused_in_a_line_that_does_not_repeat_it(
    lines: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        Config.parse(config(*lines))

    message = str(raised.value)
    assert said in message
    assert "of the server a" in message
    assert "s3cret" not in message
    assert TOKEN not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "lines",
    [
        ('url = "https://far.example/mcp"', 'key_env = "FAR_TOKEN"'),
        ('url = "http://far.example/mcp"',),
        ('url = "http://127.0.0.1:8000/mcp"', 'key_env = "NEAR_TOKEN"'),
        ('url = "http://[::1]:8000/mcp"', 'key_env = "NEAR_TOKEN"'),
        ('command = ["x"]', 'env = ["HOME", "GITHUB_TOKEN", "lower_case"]'),
    ],
)
def test_what_gives_nothing_away_is_taken(lines: tuple[str, ...]) -> None:
    assert len(Config.parse(config(*lines)).tools.mcp) == 1
