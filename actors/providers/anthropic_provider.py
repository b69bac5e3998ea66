"""The provider `anthropic`: Anthropic's messages, with the stable part of a prompt cached."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import groupby
from typing import Any

import msgspec

from cortex.bus import Event
from cortex.bus.events import ModelInvoke
from cortex.runtime.context import Message, PromptBlock, messages_of, parts_of, tools_of
from cortex.runtime.kernel import Delivery, on
from cortex.runtime.models import Endpoint

from .calls import CallPiece, HttpProvider, Piece, UsagePiece, native_schema
from .calls import failure_of_frame as refused

PROVIDER = "anthropic"
STOPS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "calls",
    "refusal": "refused",
}
# The text before it is the same from step to step, so that the endpoint may cache it.
BREAKPOINT = {"cache_control": {"type": "ephemeral"}}
MOST_BREAKPOINTS = 4  # of one request


class _Usage(msgspec.Struct):
    input_tokens: int | None = None  # without cached ones
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _Usage | None = None


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    name: str = ""


class _Delta(msgspec.Struct):
    text: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: Any = None


class AnthropicDialect:
    """The protocol of Anthropic's messages."""

    package = "anthropic"

    def body(
        self, blocks: Sequence[PromptBlock], asked: ModelInvoke, endpoint: Endpoint
    ) -> dict[str, Any]:
        """The request, with breakpoints where the prompt has them, and the answer's bounds."""
        tools = tools_of(blocks)
        spoken = [each for each in blocks if each.role != "system"]
        system = parts_of(blocks).system
        if not spoken:  # a prompt of one part is a user message
            spoken, system = [*blocks], ""
        body: dict[str, Any] = {
            "model": endpoint.model,
            "max_tokens": asked.max_tokens,
            "messages": _messages(messages_of(spoken, calls=bool(tools)), divided=bool(tools)),
            "stream": True,
        }
        if system:
            body["system"] = [{"type": "text", "text": system, **BREAKPOINT}]
        if tools:
            *others, last = [_tool(tool) for tool in tools]
            # The system's end follows the tools, whose breakpoint is the first to drop.
            more = bool(system) + sum(each.breakpoint for each in spoken) < MOST_BREAKPOINTS
            body["tools"] = [*others, {**last, **(BREAKPOINT if more else {})}]
        if endpoint.structured == "native" and asked.answer_schema:
            schema = native_schema(asked.answer_schema)
            if schema is not None:
                body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body

    def connect(self, sdk: Any, endpoint: Endpoint, key: str, http: Any) -> Any:
        """A client without retries and tracing."""
        return sdk.AsyncAnthropic(
            api_key=key,
            base_url=endpoint.base_url,
            max_retries=0,
            open_telemetry=False,
            http_client=http,
        )

    def send(self, client: Any, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        """The stream as bytes: parsing it here costs a quarter of the SDK's objects."""
        # In `extra_body` the SDK sends the request unchanged, without checking its types.
        stream: AbstractAsyncContextManager[Any] = client.messages.with_streaming_response.create(
            model=body["model"],
            max_tokens=body["max_tokens"],
            messages=(),
            stream=True,
            extra_body=body,
        )
        return stream

    def read(self, frame: bytes) -> Piece:
        """The parsed content of one event."""
        event = msgspec.json.decode(frame, type=_Event)
        if event.error is not None:
            raise refused(event.error)
        usage = event.usage or (event.message.usage if event.message else None)
        told = _told(usage) if usage else None
        if event.content_block and event.content_block.type == "tool_use":
            block = event.content_block
            return Piece(calls=(CallPiece(event.index, block.id, block.name),), usage=told)
        said = event.delta or _Delta()
        calls = (CallPiece(event.index, arguments=said.partial_json),) if said.partial_json else ()
        stop = STOPS.get(said.stop_reason, "end") if said.stop_reason else ""
        return Piece(text=said.text, calls=calls, stop=stop, usage=told)


class AnthropicProvider(HttpProvider):
    """Asks Anthropic, and gateways with its protocol."""

    provider = PROVIDER
    dialect = AnthropicDialect

    @on(ModelInvoke, where={"provider": PROVIDER})
    async def invoke(self, event: ModelInvoke, delivery: Delivery) -> AsyncIterator[Event]:
        """Ask the model."""
        async for output in self.call(event):
            yield output


def _messages(messages: Iterable[Message], *, divided: bool) -> list[dict[str, Any]]:
    """The messages of the user, including results, and of the model, in turn."""
    made: list[dict[str, Any]] = []
    for role, said in groupby(messages, lambda message: message.role == "assistant"):
        blocks = [block for message in said for block in message.blocks]
        content = _content(blocks, divided=divided)
        if role:  # a model's message must not end in a line break
            content = [_stripped(each) for each in content]
        only = content[0] if len(content) == 1 else {}
        plain = only.keys() == {"type", "text"}
        made.append(
            {
                "role": "assistant" if role else "user",
                "content": only["text"] if plain else content,
            }
        )
    return made


def _content(blocks: Sequence[PromptBlock], *, divided: bool) -> list[dict[str, Any]]:
    """The content of a message; texts are one until a breakpoint.

    If *divided*, each item of the history is a separate text: endpoints compare whole
    blocks, and an earlier prompt may have ended there.
    """
    made: list[dict[str, Any]] = []
    before: PromptBlock | None = None
    for block in blocks:
        if block.kind == "call":
            arguments = msgspec.json.decode(block.text)
            made.append(
                {"type": "tool_use", "id": block.call, "name": block.tool, "input": arguments}
            )
        elif block.kind == "result":
            result = {"type": "tool_result", "tool_use_id": block.call, "content": block.sent}
            made.append({**result, **({"is_error": True} if block.failed else {})})
        elif before is not None and _goes_on(before, block, divided=divided):
            made[-1]["text"] += block.sent
        else:
            made.append({"type": "text", "text": block.sent})
        if block.breakpoint:
            made[-1] |= BREAKPOINT
        before = block
    return made


def _stripped(content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "text": content["text"].rstrip("\n")} if "text" in content else content


def _goes_on(before: PromptBlock, block: PromptBlock, *, divided: bool) -> bool:
    """Whether *block* shares a text with the previous one."""
    if before.breakpoint or before.kind in ("call", "result"):
        return False
    of_history = before.stretch == block.stretch == "append" and before.kind != "heading"
    return not (divided and of_history)


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "input_schema": tool.get("parameters", {"type": "object", "properties": {}}),
    }


def _told(usage: _Usage) -> UsagePiece:
    return UsagePiece(
        input=usage.input_tokens,
        cached_read=usage.cache_read_input_tokens,
        cached_write=usage.cache_creation_input_tokens,
        output=usage.output_tokens,
    )
