"""Secrets by name: from the environment, files that their owner alone may read, or a keyring."""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from cortex.runtime.secrets import KEYRING, SecretUnavailableError, secret_value

from .errors import PluginRefusedError

FOLDER = Path("keys") / "secrets"  # in the home
SECRET_BYTES = 64 * 1024
SERVICE = "cortex"  # of the keyring

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,79}")


def secret(home: Path, name: str, environment: Mapping[str, str] = os.environ) -> str:
    """The secret called *name*: a variable of the environment, or a file keys/secrets/NAME.

    Raises:
        PluginRefusedError: It is missing, or others may read its file.
    """
    if not _NAME.fullmatch(name):
        raise PluginRefusedError(
            f"{name[:80]!r} is not a name of a secret: use capitals, digits, _"
        )
    if environment.get(name):
        return environment[name]
    path = home / FOLDER / name
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise PluginRefusedError(
                    f"others may read the secret {path}: `chmod 600 {path}`, and replace the "
                    "secret if somebody may have read it"
                )
            text = file.read(SECRET_BYTES).decode().strip()
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise PluginRefusedError(f"the secret {path} cannot be read: {why}") from None
    if not text:
        text = _in_keyring(name)
    if not text:
        raise PluginRefusedError(
            f"there is no secret {name}: set the variable, or write it to {path} with mode 600"
        )
    return text


def _in_keyring(name: str) -> str:
    try:
        return secret_value(f"{KEYRING}{SERVICE}/{name}")
    except SecretUnavailableError:
        return ""  # most systems have none; what to do instead is said anyway
