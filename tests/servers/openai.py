"""Answers from a script, in the shape of OpenAI's chat completions."""

import json
from collections.abc import Iterator
from typing import Any

from .http import Answer, ScriptedHandler, ScriptedServer, arguments


class _Handler(ScriptedHandler):
    route = "/v1/chat/completions"

    def frames(self, answer: Answer, body: Any) -> Iterator[bytes | None]:
        model = body["model"]
        yield _chunk(model, {"role": "assistant", "content": ""})
        for text in answer.text:
            yield None
            yield _chunk(model, {"content": text})
        for index, tool in enumerate(answer.tools):
            function = {"name": tool.name, "arguments": ""}
            head = {"index": index, "id": tool.id, "type": "function", "function": function}
            yield _chunk(model, {"tool_calls": [head]})
            for piece in arguments(tool):
                part = {"index": index, "function": {"arguments": piece}}
                yield _chunk(model, {"tool_calls": [part]})
        if answer.is_cut:
            return
        yield _chunk(model, {}, answer.stop or ("tool_calls" if answer.tools else "stop"))
        if answer.usage and (body.get("stream_options") or {}).get("include_usage"):
            yield _sse({**_about(model), "choices": [], "usage": _usage(answer)})
        yield b"data: [DONE]\n\n"

    def error_body(self, answer: Answer) -> Any:
        error = {"message": answer.message, "type": answer.error, "param": None, "code": None}
        return {"error": error}

    def error_frame(self, answer: Answer) -> bytes:
        return _sse(self.error_body(answer))


class ScriptedOpenAI(ScriptedServer):
    """Speaks as OpenAI's chat completions do."""

    handler = _Handler
    path = "/v1"


def _about(model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}


def _chunk(model: str, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _sse({**_about(model), "choices": [choice]})


def _sse(value: Any) -> bytes:
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def _usage(answer: Answer) -> dict[str, Any]:
    details = {
        "cached_tokens": answer.cached_tokens,
        "cache_write_tokens": answer.written_tokens,
    }
    return {
        "prompt_tokens": answer.input_tokens,  # cached ones among them
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": details,
    }
