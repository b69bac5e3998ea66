"""Answers from a script, in the shape of Anthropic's messages."""

import json
from collections.abc import Iterator
from typing import Any

from .http import Answer, ScriptedHandler, ScriptedServer, arguments


class _Handler(ScriptedHandler):
    route = "/v1/messages"

    def frames(self, answer: Answer, body: Any) -> Iterator[bytes | None]:
        yield _sse({"type": "message_start", "message": _message(answer, body)})
        yield _sse({"type": "ping"})
        first = 0
        if answer.text:
            yield _begin(0, {"type": "text", "text": ""})
            for text in answer.text:
                yield None
                yield _delta(0, {"type": "text_delta", "text": text})
            yield _sse({"type": "content_block_stop", "index": 0})
            first = 1
        for index, tool in enumerate(answer.tools, start=first):
            yield _begin(index, {"type": "tool_use", "id": tool.id, "name": tool.name, "input": {}})
            for piece in arguments(tool):
                yield _delta(index, {"type": "input_json_delta", "partial_json": piece})
            yield _sse({"type": "content_block_stop", "index": index})
        if answer.is_cut:
            return
        stop = answer.stop or ("tool_use" if answer.tools else "end_turn")
        end: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": stop}}
        if answer.usage:
            end["usage"] = {"output_tokens": answer.output_tokens}
        yield _sse(end)
        yield _sse({"type": "message_stop"})

    def error_body(self, answer: Answer) -> Any:
        return {"type": "error", "error": {"type": answer.error, "message": answer.message}}

    def error_frame(self, answer: Answer) -> bytes:
        return _sse(self.error_body(answer))

    def garbage_frame(self) -> bytes:
        return b"event: content_block_delta\ndata: {not json\n\n"


class ScriptedAnthropic(ScriptedServer):
    """Speaks as Anthropic's messages do."""

    handler = _Handler


def _sse(value: dict[str, Any]) -> bytes:
    data = json.dumps(value, separators=(",", ":"))
    return f"event: {value['type']}\ndata: {data}\n\n".encode()


def _begin(index: int, block: dict[str, Any]) -> bytes:
    return _sse({"type": "content_block_start", "index": index, "content_block": block})


def _delta(index: int, delta: dict[str, Any]) -> bytes:
    return _sse({"type": "content_block_delta", "index": index, "delta": delta})


def _message(answer: Answer, body: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": answer.input_tokens,  # without cached ones
        "cache_creation_input_tokens": answer.written_tokens,
        "cache_read_input_tokens": answer.cached_tokens,
        "output_tokens": 1,  # a beginning; the end says how many
    }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "usage": usage if answer.usage else {},
    }
