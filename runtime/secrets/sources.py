"""Where a secret comes from: a variable of the environment, or the keyring of the system."""

import importlib
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from cortex.bus import CortexError, with_fields

KEYRING = "keyring:"  # before SERVICE/NAME, where a setting names no variable
NONE = (
    "this system has no keyring that can be used: put the secret into an environment variable, "
    "and name that instead"
)
SAID_CHARS = 200  # of what a keyring says is wrong
MISSING = "the package `keyring` is not installed: pip install 'cortex-runtime[keyring]'"
# Settings whose values are names of secrets: of models, embedders, hooks, servers and plugins.
_NAMING: Final = re.compile(r"(?:.*_)?(?:key|secret|token|password|webhook)_env|secret")
LEAST_NAMED: Final = 4  # characters: a shorter one would make a text unreadable, and hides nothing
LOOKS_SECRET: Final = re.compile(
    r".*(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL).*"
    r"|.*(?:KEYS?|TOKENS?|CONNECTION_STRING|WEBHOOK(?:_URL)?|AUTH_CONFIG)(?:_?\d+)?"
    r"|(?:.*_)?(?:PAT|AUTH|AUTHORIZATION|PASS|SSHPASS|CREDS?|JWT|DSN|COOKIES?)(?:_?\d+)?"
    r"|.*_PWD",
    re.IGNORECASE,
)


def place_of(reference: str) -> str:
    """*reference* in words."""
    if reference.startswith(KEYRING):
        return f"the entry {reference.removeprefix(KEYRING)} of the keyring"
    return f"the environment variable {reference}"


def remedy_of(reference: str) -> str:
    """The command that sets the secret *reference*."""
    if reference.startswith(KEYRING):
        service, _, name = reference.removeprefix(KEYRING).rpartition("/")
        return f"keyring set {service} {name}"
    return f"export {reference}=..."


def is_set(reference: str) -> bool:
    """Whether there is a secret where *reference* says."""
    try:
        return bool(secret_value(reference))
    except SecretUnavailableError:
        return False


def secret_value(reference: str, environment: Mapping[str, str] = os.environ) -> str:
    """The secret that *reference* names: a variable, or `keyring:SERVICE/NAME`; "" for none.

    Raises:
        SecretUnavailableError: The keyring is not installed, is locked, fails, or is unusable.
    """
    if not reference.startswith(KEYRING):
        return environment.get(reference, "") if reference else ""
    service, slash, name = reference.removeprefix(KEYRING).rpartition("/")
    if not (service and slash and name):
        raise SecretUnavailableError(reference, "write it as keyring:SERVICE/NAME")
    try:
        keyring: Any = importlib.import_module("keyring")
    except ImportError:
        raise SecretUnavailableError(reference, MISSING) from None
    try:
        return keyring.get_password(service, name) or ""
    except Exception as error:  # noqa: BLE001  # any package may bring one, and raise what it likes
        raise SecretUnavailableError(reference, _problem(keyring, error)) from None


def _problem(keyring: Any, error: Exception) -> str:
    """Why a keyring returned nothing, and what to do, in one line."""
    if isinstance(error, keyring.errors.NoKeyringError):
        return NONE  # what it says itself is about packages for whoever installs it
    said = " ".join(str(error).split())[:SAID_CHARS].rstrip(".") or type(error).__name__
    if isinstance(error, keyring.errors.KeyringError):
        return f"{said}: unlock the keyring"
    return f"the keyring failed with {type(error).__name__}: {said}"


@with_fields
class SecretUnavailableError(CortexError):
    """A secret cannot be had from where it is said to be."""

    reference: str
    problem: str

    says = "the secret {reference} cannot be read: {problem}"


def named_in(settings: Any) -> Iterator[str]:
    """The names of secrets in *settings*, however deep."""
    if isinstance(settings, dict):
        for key, value in settings.items():
            if isinstance(value, str) and _NAMING.fullmatch(str(key)):
                yield value
            else:
                yield from named_in(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from named_in(value)


def with_names(text: str, secrets: Mapping[str, str], shortest: int = LEAST_NAMED) -> str:
    """*text* with the names of *secrets* where their values were, for who knows them by name."""
    for name, value in sorted(secrets.items(), key=lambda pair: -len(pair[1])):
        if len(value) >= shortest:
            text = text.replace(value, f"[{name}]")
    return text
