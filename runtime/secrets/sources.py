"""Where a secret comes from: a variable of the environment, or the keyring of the system."""

import importlib
import os
from collections.abc import Mapping
from typing import Any

from .errors import SecretUnavailableError

KEYRING = "keyring:"  # before SERVICE/NAME, where a setting names no variable
NONE = (
    "this system has no keyring that can be used: put the secret into an environment variable, "
    "and name that instead"
)
SAID_CHARS = 200  # of what a keyring says is wrong
MISSING = "the package `keyring` is not installed: pip install 'cortex-runtime[keyring]'"


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
        SecretUnavailableError: The keyring is not installed, is locked, fails, or is none.
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
    """Why a keyring gave nothing, and what to do, in one line."""
    if isinstance(error, keyring.errors.NoKeyringError):
        return NONE  # what it says itself is about packages for whoever installs it
    said = " ".join(str(error).split())[:SAID_CHARS].rstrip(".") or type(error).__name__
    if isinstance(error, keyring.errors.KeyringError):
        return f"{said}: unlock the keyring"
    return f"the keyring failed with {type(error).__name__}: {said}"
