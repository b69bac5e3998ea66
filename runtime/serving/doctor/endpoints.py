"""Checks the endpoints of configured models, without sending a prompt.

It contacts only the endpoint itself: it uses no proxy of the environment, and follows no redirect.
"""

import http.client
import os
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from cortex.bus import steady_s
from cortex.runtime.kernel import Config, Home, NotFoundError
from cortex.runtime.models import (
    ASSUMED_WINDOW,
    EMBEDDED_MODEL,
    Address,
    Endpoint,
    ModelConfig,
    catalogue,
    endpoint_of,
)
from cortex.runtime.secrets import SecretUnavailableError, place_of, remedy_of, secret_value

from .findings import State
from .models import ModelRow, models_of

PATIENCE_S = 5.0  # for the connection, and for each part of an answer
LONGEST_BYTES = 4 << 20  # of a list of models
LISTING = "openai"  # the provider whose endpoints list their models
SHOWN = 4  # models shown of an unexpected list
AT_ONCE = 8  # endpoints that are checked beside each other


class ModelCheck(msgspec.Struct):
    """Whether Cortex can ask a model, as far as it can tell without a prompt."""

    name: str
    state: State
    found: str
    todo: str = ""
    took_s: float | None = None  # until the answer of the endpoint


class _Listed(msgspec.Struct):
    id: str


class _Listing(msgspec.Struct):
    data: list[_Listed]


class _Socket(http.client.HTTPConnection):
    """HTTP through a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(self._path)


def check_models(home: Home, name: str | None = None) -> list[ModelCheck]:
    """Whether the models of *home*, or the one called *name*, can be used; no prompt is sent.

    Raises:
        NotFoundError: There is no model of that name.
    """
    rows = models_of(home)
    asked = [row for row in rows if name in (None, row.name)]
    if not asked:
        raise NotFoundError("model", name or "", "is not known: `cortex model list` shows what is")
    models = Config.load(home).models
    used = {each.name: each for each in models.use}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda row: check_model(row, used.get(row.name), home), asked))
    if name is not None:
        return found
    if not models.use and all(row.provider == EMBEDDED_MODEL for row in rows):
        todo = f"name one in {home.config_path}, as [[models.use]]"
        found.append(ModelCheck("models", "fail", "none is configured", todo))
    if models.default and models.default not in {row.name for row in rows}:
        todo = "correct `default` in [models], or it chooses nothing"
        found.append(ModelCheck(models.default, "fail", "the default is not a model", todo))
    return found


def check_model(
    row: ModelRow, model: ModelConfig | None, home: Home, environ: Mapping[str, str] = os.environ
) -> ModelCheck:
    """Why *row* cannot be asked, if so; *model* is its configuration, if it has one."""
    if model is None:
        return ModelCheck(row.name, "ok", f"announced by {row.component}")
    found = _looked_at(model, home, environ)
    if found.state == "fail":
        return found
    if row.component:
        return _with_unsaid(found, model)
    word = f"no component answers for the provider {row.provider!r}"
    there = ", ".join(catalogue().providers)
    todo = f"name one of {there}, or start its component"
    return ModelCheck(row.name, "fail", word, todo)


def _with_unsaid(found: ModelCheck, model: ModelConfig) -> ModelCheck:
    """*found*, with the missing properties of a model that the selection needs."""
    if model.is_embedded or catalogue().find(model.provider, model.id) is not None:
        return found
    unsaid = [key for key in ("reasoning", "code", "speed") if getattr(model, key) is None]
    of_them = "them" if len(unsaid) > 1 else "that"
    todo = [f"set {', '.join(unsaid)}: until then it meets no need of {of_them}"] if unsaid else []
    if model.window is None:
        todo.append(f"set window: {ASSUMED_WINDOW:,} tokens are assumed")
    if todo and found.state == "ok":
        found.state, found.todo = "warn", "; ".join(todo)
    return found


def _looked_at(model: ModelConfig, home: Home, environ: Mapping[str, str]) -> ModelCheck:
    if model.log:
        return _replayed(model.name, home.path / Path(model.log).expanduser())
    address = model.address
    if address is None:
        return ModelCheck(model.name, "ok", "answers on this host, without an endpoint")
    endpoint = endpoint_of(model)
    try:
        key = secret_value(endpoint.key_env, environ)
    except SecretUnavailableError as error:
        return ModelCheck(model.name, "fail", str(error), "`key_env` says where its key is")
    if wrong := _wrong_key(endpoint.key_env, key):
        return ModelCheck(model.name, "fail", wrong, remedy_of(endpoint.key_env))
    return _asked(endpoint, address, key)


def _replayed(name: str, log: Path) -> ModelCheck:
    path = log / "log.db" if log.is_dir() else log
    if path.is_file():
        return ModelCheck(name, "ok", f"replays {path}")
    return ModelCheck(name, "fail", f"{path} is not there", "set `log` to a home or its log.db")


def _wrong_key(reference: str, key: str) -> str:
    if reference and not key:
        return f"{place_of(reference)} is not set"
    if not (key.isascii() and key.isprintable()) or " " in key:
        # Not left to the HTTP library: its error would show the value.
        return (
            f"the value of {reference} is not a key: it has blanks, line breaks or the like in it"
        )
    return ""


def _asked(endpoint: Endpoint, address: Address, key: str) -> ModelCheck:
    began = steady_s()
    name = endpoint.description.name
    connection = _connection(address)
    try:
        connection.connect()
        if endpoint.description.provider != LISTING:
            return ModelCheck(name, "ok", f"{address} takes connections", took_s=_since(began))
        path = urlsplit(endpoint.base_url).path
        connection.request("GET", f"{path}/models", headers=_headers(key))
        answer = connection.getresponse()
        found = _listed(endpoint, address, answer.status, answer.read(LONGEST_BYTES))
    except (OSError, http.client.HTTPException) as error:
        found = _unreachable(name, address, error)
    finally:
        connection.close()
    found.took_s = _since(began)
    return found


def _connection(address: Address) -> http.client.HTTPConnection:
    if address.socket:
        return _Socket(address.socket)
    if address.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(
            address.host, address.port, timeout=PATIENCE_S, context=context
        )
    return http.client.HTTPConnection(address.host, address.port, timeout=PATIENCE_S)


def _headers(key: str) -> dict[str, str]:
    headers = {"Accept": "application/json", "User-Agent": "cortex"}
    return {**headers, "Authorization": f"Bearer {key}"} if key else headers


def _listed(endpoint: Endpoint, address: Address, status: int, body: bytes) -> ModelCheck:
    name, model = endpoint.description.name, endpoint.model
    if status in (401, 403):
        return _refused(endpoint, address, status)
    if status == http.client.NOT_FOUND:
        todo = "base_url usually ends with /v1; if it is right, the endpoint lists no models"
        return ModelCheck(name, "warn", f"{address} has no list of models (404)", todo)
    if status != http.client.OK:
        word = f"{address} answers {status} to the question for its models"
        return ModelCheck(name, "fail", word, "check base_url; redirects are not followed")
    try:
        ids = [each.id for each in msgspec.json.decode(body, type=_Listing).data]
    except (msgspec.DecodeError, UnicodeDecodeError):
        word = f"{address} does not answer as an OpenAI-compatible endpoint does"
        return ModelCheck(name, "fail", word, "check base_url: it usually ends with /v1")
    if {model, f"{model}:latest"} & set(ids):
        return ModelCheck(name, "ok", f"{address} has {model}")
    if not ids:
        return ModelCheck(name, "warn", f"{address} answers and lists no model at all")
    some = ", ".join(each[:60] for each in ids[:SHOWN]) + (", ..." if len(ids) > SHOWN else "")
    return ModelCheck(name, "fail", f"{address} does not have {model}", f"it has {some}")


def _refused(endpoint: Endpoint, address: Address, status: int) -> ModelCheck:
    """The finding for an endpoint that needs a key, or another one."""
    name, reference = endpoint.description.name, endpoint.key_env
    if not reference:
        word = f"{address} refuses a call without a key ({status})"
        return ModelCheck(name, "fail", word, "set `key_env` to the variable that holds its key")
    word = f"{address} refuses the key of {place_of(reference)} ({status})"
    todo = (
        f"check that it is whole, is for this endpoint and has not expired; {remedy_of(reference)}"
    )
    return ModelCheck(name, "fail", word, todo)


def _unreachable(name: str, address: Address, error: Exception) -> ModelCheck:
    if isinstance(error, ssl.SSLCertVerificationError):
        word = f"{address} shows a certificate that is not trusted: {error.verify_message}"
        return ModelCheck(name, "fail", word, "name its authority in SSL_CERT_FILE")
    if isinstance(error, ssl.SSLError):
        return ModelCheck(name, "fail", f"{address} speaks no TLS", "check https and the port")
    if isinstance(error, socket.gaierror):
        return ModelCheck(name, "fail", f"{address} has no address", "check base_url and the net")
    if isinstance(error, ConnectionRefusedError | FileNotFoundError):
        word = f"nothing listens at {address}"
        return ModelCheck(name, "fail", word, "start its server, or check base_url")
    if isinstance(error, TimeoutError):
        word = f"{address} does not answer within {PATIENCE_S:.0f} s"
        return ModelCheck(name, "fail", word, "check base_url and the net")
    if isinstance(error, http.client.HTTPException | ConnectionError):
        return ModelCheck(name, "fail", f"{address} breaks off or speaks no HTTP", "check base_url")
    why = error.strerror if isinstance(error, OSError) else None
    return ModelCheck(name, "fail", f"{address}: {why or 'cannot be reached'}", "check base_url")


def _since(began: float) -> float:
    return round(steady_s() - began, 4)
