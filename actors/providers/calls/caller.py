"""Asks an endpoint: one call from the prompt's blob to its answer, for each HTTP provider."""

import asyncio
import importlib
import importlib.util
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, ClassVar, Protocol

import msgspec

from cortex.bus import Event
from cortex.bus.events import ModelInvoke
from cortex.runtime.context import PromptBlock, counter_for, framing_tokens, text_of
from cortex.runtime.kernel import AsyncComponent, Config, Serves
from cortex.runtime.log import Blobs
from cortex.runtime.models import Endpoint, ModelDescription, Usage, endpoints
from cortex.runtime.secrets import KEYRING, SecretUnavailableError, place_of, secret_value

from .answer import ModelAnswer, Piece
from .failures import CallFailedError, failure_of
from .model_events import announced, blocks_in, delta, failed, responded
from .web import NO_KEY, Connection, Frames, http_client

GATHER_S = 0.05  # text of as long goes into one delta
STALL_S = 120.0  # silence in the middle of an answer; before it, the request's own time counts
TRANSPORTS = ("httpx2", "httpcore2")
LINGER_S = 1.0  # for a connection that stays open after its answer ended


class Dialect(Protocol):
    """How one kind of endpoint is spoken to."""

    package: str  # of its SDK, and the extra that brings it

    def body(
        self, blocks: Sequence[PromptBlock], asked: ModelInvoke, endpoint: Endpoint
    ) -> dict[str, Any]:
        """The request, from the prompt's blocks, what was asked and the configuration alone."""
        ...

    def connect(self, sdk: Any, endpoint: Endpoint, key: str, http: Any) -> Any:
        """A client of the SDK."""
        ...

    def send(self, client: Any, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        """Ask for the stream of an answer."""
        ...

    def read(self, frame: bytes) -> Piece:
        """What one event of the stream says; `CallFailedError` or `ValueError` where it cannot."""
        ...


class Caller:
    """Carries out the calls of one provider, on one event loop."""

    def __init__(
        self,
        dialect: Dialect,
        blobs: Blobs,
        endpoints: Mapping[str, Endpoint],
    ) -> None:
        self._dialect = dialect
        self._blobs = blobs
        self._endpoints = endpoints
        self._slots = {n: asyncio.Semaphore(e.max_parallel) for n, e in endpoints.items()}
        self._connections: dict[tuple[str, str], Connection] = {}
        self._connecting = asyncio.Lock()

    async def close(self) -> None:
        """Close all connections."""
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            await connection.http.aclose()

    async def call(self, asked: ModelInvoke) -> AsyncGenerator[Event, None]:
        """The events of one answer: deltas, then that it is there, or that it failed."""
        answer: ModelAnswer | None = None
        model: ModelDescription | None = None
        try:
            endpoint = self._endpoint(asked)
            model = endpoint.description
            # A keyring may ask a person to unlock it, and other calls go on meanwhile.
            named = endpoint.key_env.startswith(KEYRING)
            key = await asyncio.to_thread(self._key, endpoint) if named else self._key(endpoint)
            answer = ModelAnswer(key)
            prompt = blocks_in(self._blobs, asked)
            number = 0
            async with aclosing(self._deltas(asked, endpoint, key, prompt, answer)) as texts:
                async for text in texts:
                    yield delta(asked, number, text)
                    number += 1
            if not answer.stop:
                raise CallFailedError("cut_off", "the answer ended before its end")
            usage = answer.usage or await self._count(endpoint, prompt, answer)
            calls = answer.calls()
            stop = "calls" if calls and answer.stop == "end" else answer.stop
            whole = responded(asked, model, answer.text, usage, calls=calls, stop=stop, key=key)
        except CallFailedError as error:
            yield failed(asked, error, model, answer.usage if answer else None)
            return
        yield whole

    async def _deltas(
        self,
        asked: ModelInvoke,
        endpoint: Endpoint,
        key: str,
        prompt: Sequence[PromptBlock],
        answer: ModelAnswer,
    ) -> AsyncGenerator[str, None]:
        """Text as it comes, in bounds of time; *answer* hears everything."""
        slot = self._slots[asked.model]
        frames = Frames()
        bound = asyncio.timeout(asked.timeout_s)
        end, sent = bound.when() or 0.0, False
        try:
            async with bound, slot:
                sent = True
                body = self._dialect.body(prompt, asked, endpoint)
                stream = self._stream(endpoint, key, body, prompt, answer, frames, bound)
                async with aclosing(stream) as texts:
                    async for text in texts:
                        yield text
        except TimeoutError:
            if not bound.expired():
                raise
            if not answer.stop:
                stalled = (bound.when() or end) < end
                raise self._late(asked, endpoint, sent=sent, stalled=stalled) from None
        if rest := answer.take(last=True):
            yield rest

    async def _stream(
        self,
        endpoint: Endpoint,
        key: str,
        body: dict[str, Any],
        prompt: Sequence[PromptBlock],
        answer: ModelAnswer,
        frames: Frames,
        bound: asyncio.Timeout,
    ) -> AsyncGenerator[str, None]:
        connection = await self._connection(endpoint, key)
        clock = asyncio.get_running_loop().time
        end, due, stopped = bound.when() or 0.0, 0.0, False
        try:
            async with self._dialect.send(connection.client, body) as response:
                async for received in response.iter_bytes():
                    for frame in frames.feed(received):
                        answer.add(self._dialect.read(frame))
                    now = clock()
                    if now >= due or answer.stop:
                        if not answer.stop:
                            bound.reschedule(min(end, now + STALL_S))
                        elif not stopped:  # once: what comes later does not put it off
                            stopped = True
                            bound.reschedule(min(end, now + LINGER_S))
                        if text := answer.take():
                            due = now + GATHER_S  # the first text goes out as it comes
                            yield text
        except CallFailedError:
            raise
        except (connection.sdk.APIError, *_transport_errors(), ValueError, RecursionError) as error:
            if not answer.stop:  # else all was said
                begun = frames.count > 0
                raise failure_of(error, begun=begun, prompt=text_of(prompt), key=key) from None
        if not frames.count:
            raise CallFailedError(
                "garbage", "what the endpoint sends is not a stream: does base_url lead to its API?"
            )

    def _endpoint(self, asked: ModelInvoke) -> Endpoint:
        endpoint = self._endpoints.get(asked.model)
        if endpoint is None:
            raise CallFailedError("missing", "no model of this name is configured any more")
        return endpoint

    def _key(self, endpoint: Endpoint) -> str:
        if not endpoint.key_env:
            return ""
        try:
            key = secret_value(endpoint.key_env).strip()
        except SecretUnavailableError as error:
            raise CallFailedError("unauthorised", str(error)) from None
        if not key:
            problem = f"{place_of(endpoint.key_env)} holds no key: set it"
            raise CallFailedError("unauthorised", problem)
        if not (key.isascii() and key.isprintable()):
            raise CallFailedError(
                "unauthorised", f"the value of {endpoint.key_env} cannot be a key: set it again"
            )
        return key

    async def _connection(self, endpoint: Endpoint, key: str) -> Connection:
        name = (endpoint.description.name, key)
        async with self._connecting:
            found = self._connections.get(name)
            if found is None:
                found = self._connections[name] = await self._connect(endpoint, key)
        return found

    async def _connect(self, endpoint: Endpoint, key: str) -> Connection:
        package = self._dialect.package
        if importlib.util.find_spec(package) is None:
            raise CallFailedError(
                "missing", f"the package {package} is missing: "
                f"pip install 'cortex-runtime[{package}]'"
            )  # fmt: skip
        # In a thread: the import takes a second or two, and other calls are under way.
        sdk = await asyncio.to_thread(importlib.import_module, package)
        for name in (package, *TRANSPORTS):
            logging.getLogger(name).setLevel(logging.WARNING)  # below, they show prompts and URLs
        http = http_client(endpoint.socket, keyless=not key, parallel=endpoint.max_parallel)
        client = self._dialect.connect(sdk, endpoint, key or NO_KEY, http)
        return Connection(sdk, client, http)

    async def _count(
        self, endpoint: Endpoint, prompt: Sequence[PromptBlock], answer: ModelAnswer
    ) -> Usage:
        counter = counter_for(endpoint.description.encoding)
        said = answer.text + "".join(
            msgspec.json.encode(call["arguments"]).decode() for call in answer.calls()
        )
        text = "".join(block.sent for block in prompt)
        sent, received = await asyncio.to_thread(lambda: (counter.count(text), counter.count(said)))
        return Usage(input=sent + framing_tokens(prompt), output=received)

    def _late(
        self, asked: ModelInvoke, endpoint: Endpoint, *, sent: bool, stalled: bool
    ) -> CallFailedError:
        """Why the time is over."""
        time_s = f"{asked.timeout_s:g} s"
        if not sent:
            taken = f"all of its max_parallel = {endpoint.max_parallel} calls were in use"
            return CallFailedError("overloaded", f"{taken} for {time_s}")
        if stalled:
            return CallFailedError("cut_off", f"nothing more of the answer came for {STALL_S:g} s")
        return CallFailedError("timeout", f"its answer was not complete after {time_s}")


def _transport_errors() -> tuple[type[Exception], ...]:
    import httpx2  # comes with the SDKs, and they are extras

    return (httpx2.HTTPError, httpx2.StreamError)


class HttpProvider(AsyncComponent):
    """Base of a provider; a subclass names itself and its dialect, and takes `model.invoke`."""

    rests = True
    provider: ClassVar[str]
    dialect: ClassVar[type[Dialect]]

    @classmethod
    def announces(cls, config: Config) -> tuple[Serves, ...]:
        """The models that the home configures for it."""
        return announced(config, cls.provider)

    def __init__(self, blobs: Blobs, config: Config) -> None:
        self._blobs, self._config = blobs, config

    async def opened(self) -> None:
        """Make room for calls; nothing is imported before the first."""
        known = endpoints(self._config.models, self.provider)
        self._caller = Caller(self.dialect(), self._blobs, known)

    async def closed(self) -> None:
        """Close all connections."""
        await self._caller.close()

    async def call(self, asked: ModelInvoke) -> AsyncIterator[Event]:
        """Send the prompt and hand on what comes."""
        async with aclosing(self._caller.call(asked)) as outputs:
            async for output in outputs:
                yield output
