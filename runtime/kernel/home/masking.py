"""The known secrets of a home, which are masked in everything stored."""

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
from cortex.runtime.subjects import PersonalBlobs, SubjectKeys

from .config import Config
from .home import Home

SECRETS = Path("keys") / "secrets"  # in a home: secrets of plugins
SECRET_BYTES = 64 * 1024
GUESSED = 12  # shortest secret recognised by its variable's name; "postgres" and "changeme" are not
# Dummy keys of local model servers, as "lm-studio" and "not-needed". Masking them would
# hide the word everywhere, even in the name of a process.
_PLACEHOLDER = re.compile(r"[A-Za-z _-]{1,20}")
# Variables of a tool server that are not secrets, and that every program needs.
_ORDINARY = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|TZ|TMPDIR|PWD|LC_.*|XDG_.*|.*_(?:PATH|HOME|DIR)"
)


def key_names(config: Config) -> frozenset[str]:
    """The secrets that *config* names: variables, whatever their names, and keyring entries."""
    names = {endpoint_of(model).key_env for model in config.models.use}
    names.update(named_in(msgspec.to_builtins(config)))
    for server in config.tools.mcp:
        names.update(name for name in server.env if not _ORDINARY.fullmatch(name))
    return frozenset(names - {""})


def mask_for(
    config: Config, home: Home | None = None, environment: Mapping[str, str] = os.environ
) -> Mask:
    """The mask of secrets named in *config*, stored in *home*, or shown by a variable's name."""
    kept = _kept(home.path / SECRETS) if home else ()
    return Mask((*_configured(config, environment), *kept, *_guessed(environment)))


def open_blobs(home: Home, config: Config, mask: Mask) -> Blobs:
    """The blobs of *home*, with masked secrets; those of a subject are encrypted."""
    store = BlobStore(home.blobs, durability=config.durability)
    return MaskedBlobs(PersonalBlobs(store, SubjectKeys.of_home(home.path)), mask)


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
            continue  # the component that needs it reports it
        if not (name in here and _PLACEHOLDER.fullmatch(value)):
            yield value


def _is_here(base_url: str) -> bool:
    address = address_of(base_url)
    return address is not None and address.on_this_host


def _guessed(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        random = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        is_place = value.startswith(("/", "~"))  # the path of a secret
        if random and not is_place and len(value) >= GUESSED and LOOKS_SECRET.fullmatch(name):
            yield value
