"""What Cortex uses of pynng, which ships no types."""

from collections.abc import Callable
from typing import Any, Self

ffi: Any
lib: Any

def check_err(err: int) -> None: ...

class NNGException(Exception):
    errno: int

class AddressInUse(NNGException): ...
class AuthenticationError(NNGException): ...
class CryptoError(NNGException): ...
class Timeout(NNGException): ...

class TLSConfig:
    MODE_CLIENT: int
    MODE_SERVER: int
    AUTH_MODE_NONE: int
    AUTH_MODE_OPTIONAL: int
    AUTH_MODE_REQUIRED: int
    _tls_config: Any

    def __init__(
        self,
        mode: int,
        server_name: str | None = None,
        ca_string: str | None = None,
        own_key_string: str | None = None,
        own_cert_string: str | None = None,
        auth_mode: int | None = None,
    ) -> None: ...

class Pipe:
    pipe: Any
    remote_address: object

    @property
    def id(self) -> int: ...
    def close(self) -> None: ...

class Socket:
    recv_fd: int
    recv_timeout: int
    recv_max_size: int
    send_timeout: int
    tcp_keepalive: bool
    tls_config: TLSConfig

    def __init__(
        self,
        *,
        dial: str | None = None,
        listen: str | None = None,
        recv_timeout: int | None = None,
        send_timeout: int | None = None,
        recv_max_size: int | None = None,
        reconnect_time_min: int | None = None,
        reconnect_time_max: int | None = None,
    ) -> None: ...
    @property
    def socket(self) -> Any: ...
    def dial(self, address: str, *, block: bool | None = None) -> object: ...
    def listen(self, address: str, flags: int = 0) -> object: ...
    def send(self, data: bytes, block: bool = True) -> None: ...
    def recv(self, block: bool = True) -> bytes: ...
    def add_pre_pipe_connect_cb(self, callback: Callable[[Pipe], object]) -> None: ...
    def add_post_pipe_connect_cb(self, callback: Callable[[Pipe], object]) -> None: ...
    def add_post_pipe_remove_cb(self, callback: Callable[[Pipe], object]) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc_info: object) -> None: ...

class Req0(Socket):
    def __init__(
        self,
        *,
        resend_time: int | None = None,
        dial: str | None = None,
        recv_timeout: int | None = None,
        send_timeout: int | None = None,
        recv_max_size: int | None = None,
        reconnect_time_min: int | None = None,
        reconnect_time_max: int | None = None,
    ) -> None: ...

class Rep0(Socket): ...
class Pub0(Socket): ...

class Sub0(Socket):
    def __init__(
        self, *, recv_timeout: int | None = None, topics: bytes | str | None = None
    ) -> None: ...

class ConnectionReset(NNGException): ...

class ConnectionAborted(NNGException): ...

class Closed(NNGException): ...
