"""Which secrets a home knows of, so that nothing of them is kept."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from cortex.runtime.log import Blobs, BlobStore
from cortex.runtime.models import address_of, endpoint_of
from cortex.runtime.secrets import (
    LOOKS_SECRET,
    Mask,
    MaskedBlobs,
    SecretUnavailableError,
    named_in,
    secret_value,
)

from .config import Config
from .home import Home

SECRETS = Path("keys") / "secrets"  # in a home: those of plugins
SECRET_BYTES = 64 * 1024
GUESSED = 12  # characters of what is a secret by its name alone; "postgres" and "changeme" are not
# What a server of models on this machine wants for a key, as "lm-studio" and "not-needed". It would
# be masked wherever the word is, in the name of a process, too.
_PLACEHOLDER = re.compile(r"[A-Za-z _-]{1,20}")
# What a server of tools is given beside its secrets, and every program needs.
_ORDINARY = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|TZ|TMPDIR|PWD|LC_.*|XDG_.*|.*_(?:PATH|HOME|DIR)"
)


def key_names(config: Config) -> frozenset[str]:
    """What *config* names as secrets: variables, whatever they are called, and keyring entries."""
    names = {endpoint_of(model).key_env for model in config.models.use}
    names.update(named_in(msgspec.to_builtins(config)))
    for server in config.tools.mcp:
        names.update(name for name in server.env if not _ORDINARY.fullmatch(name))
    return frozenset(names - {""})


def mask_for(
    config: Config, home: Home | None = None, environment: Mapping[str, str] = os.environ
) -> Mask:
    """What hides the secrets that *config* names, that *home* keeps, and that a name gives away."""
    kept = _kept(home.path / SECRETS) if home else ()
    return Mask((*_configured(config, environment), *kept, *_guessed(environment)))


def open_blobs(home: Home, config: Config, mask: Mask) -> Blobs:
    """The blobs of *home*, which keep no secrets."""
    return MaskedBlobs(BlobStore(home.blobs, durability=config.durability), mask)


def _kept(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*")):
        with contextlib.suppress(OSError):
            yield path.read_bytes()[:SECRET_BYTES].decode(errors="replace").strip()


def _configured(config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    asked = [endpoint_of(model) for model in config.models.use]
    away = {each.key_env for each in asked if not _is_here(each.base_url)}
    here = {each.key_env for each in asked} - away
    for name in key_names(config):
        try:
            value = secret_value(name, environment).strip()
        except SecretUnavailableError:
            continue  # who needs it says so
        if not (name in here and _PLACEHOLDER.fullmatch(value)):
            yield value


def _is_here(base_url: str) -> bool:
    address = address_of(base_url)
    return address is not None and address.on_this_host


def _guessed(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        random = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        is_place = value.startswith(("/", "~"))  # where a secret is
        if random and not is_place and len(value) >= GUESSED and LOOKS_SECRET.fullmatch(name):
            yield value
