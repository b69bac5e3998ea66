"""How a witness is asked: over HTTP, or in this process where its home is on this machine."""

import http.client
import os
from pathlib import Path
from typing import Final, Protocol

import msgspec

from cortex.runtime.kernel import Home
from cortex.runtime.models import Address, address_of

from .notes import AuditError
from .witness import Reply, Witness

PATIENCE_S: Final = 15.0  # for an answer
ANSWER_BYTES: Final = 256 << 10
SAME_USER: Final = "it is of the same user"
THIS_MACHINE: Final = "who answers on this machine is not known"


class KnownWitness(msgspec.Struct, frozen=True):
    """A witness that is asked to cosign the heads of a log."""

    name: str
    keys: tuple[str, ...]  # its public keys
    folder: str = ""  # its home on this machine
    url: str = ""  # its prefix, where it has no home here

    @property
    def where(self) -> str:
        """Its home or its URL."""
        return self.folder or self.url

    def counts_not(self) -> str:
        """Why it counts as none; "" if whoever has this log cannot change what it saw."""
        if self.url:
            address = address_of(self.url)
            return THIS_MACHINE if address is None or address.on_this_host else ""
        try:
            owner = Path(self.folder).stat().st_uid
        except OSError:
            return "its home is not there"
        return SAME_USER if owner == os.getuid() else ""

    def port(self) -> "WitnessPort":
        """The way to it.

        Raises:
            HomeError: Its home cannot be used.
            UntrustedHomeError: This user has not trusted that home.
        """
        if self.url:
            return HttpWitness(self.url)
        home = Home(Path(self.folder))
        home.require()  # opening it would make an empty one, which saw nothing
        return Witness(home.open())


class WitnessPort(Protocol):
    """What a witness answers."""

    def add_checkpoint(self, body: bytes) -> Reply:
        """Its cosignatures of a head, or why there are none."""
        ...

    def checkpoint(self, origin_hash: str) -> Reply:
        """The newest head that it cosigned."""
        ...


class HttpWitness:
    """A witness behind a URL; it follows no redirect and uses no proxy."""

    def __init__(self, url: str) -> None:
        self._address = checked_address(url)

    def add_checkpoint(self, body: bytes) -> Reply:
        """Post a head.

        Raises:
            AuditError: The witness was not reached, or its answer is no text.
        """
        return self._ask("POST", "/add-checkpoint", body)

    def checkpoint(self, origin_hash: str) -> Reply:
        """Get the newest head.

        Raises:
            AuditError: As for `add_checkpoint`.
        """
        return self._ask("GET", f"/{origin_hash}/checkpoint", None)

    def _ask(self, method: str, path: str, body: bytes | None) -> Reply:
        to = self._address
        secure = to.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(to.host, to.port, timeout=PATIENCE_S)
        try:
            connection.request(method, to.path + path, body)
            answer = connection.getresponse()
            data = answer.read(ANSWER_BYTES + 1)
            if len(data) > ANSWER_BYTES:
                raise AuditError(f"{to} answered with more than {ANSWER_BYTES:,} bytes")
            return Reply(answer.status, data.decode(), answer.getheader("Content-Type", ""))
        except UnicodeDecodeError:
            raise AuditError(f"{to} answered with what is no text") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or error or type(error).__name__
            raise AuditError(f"{to} was not reached: {reason}") from None
        finally:
            connection.close()


def checked_address(url: str) -> Address:
    """The address in *url*.

    Raises:
        AuditError: It is none, or would leave this machine without TLS.
    """
    address = address_of(url)
    if address is None or address.socket:
        raise AuditError(f"{url[:80]!r} is no URL of a witness: give https://HOST/PATH")
    if address.scheme == "http" and not address.on_this_host:
        raise AuditError(f"{url[:80]!r} leaves this machine: give an https:// URL")
    return address
