"""Where a secret comes from: a variable of the environment, or the keyring of the system."""

import importlib
import os
from collections.abc import Mapping
from typing import Any

from .errors import SecretUnavailableError

KEYRING = "keyring:"  # before SERVICE/NAME, where a setting names no variable
MISSING = "the package `keyring` is not installed: pip install 'cortex-runtime[keyring]'"


def place_of(reference: str) -> str:
    """*reference* in words."""
    if reference.startswith(KEYRING):
        return f"the entry {reference.removeprefix(KEYRING)} of the keyring"
    return f"the environment variable {reference}"


def is_set(reference: str) -> bool:
    """Whether there is a secret where *reference* says."""
    try:
        return bool(secret_value(reference))
    except SecretUnavailableError:
        return False


def secret_value(reference: str, environment: Mapping[str, str] = os.environ) -> str:
    """The secret that *reference* names: a variable, or `keyring:SERVICE/NAME`; "" for none.

    Raises:
        SecretUnavailableError: The keyring is not installed, is locked, or is none.
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
    except keyring.errors.KeyringError as error:
        problem = str(error).rstrip(".") or type(error).__name__
        raise SecretUnavailableError(reference, f"{problem}: unlock the keyring") from None
