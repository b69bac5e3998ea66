"""A server of tools that says odd things over stdio, without the SDK, which would not let it."""

import json
import sys
import time
from typing import Any


def tool(name: Any, schema: Any = None, description: str = "") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": schema or {"type": "object"}}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"inside": schema}}
    return schema


def tools(mode: str) -> list[dict[str, Any]]:
    big = tool("big", {"type": "object", "maximum": 10**30})
    if mode == "changes":
        return [tool("now", description=str(time.monotonic_ns()))]
    if mode == "huge":
        return [big]
    if mode == "fine":
        return [tool("fine")]
    odd = [tool("deep", deep(150)), tool("half", {"type": "object", "title": "\ud800"})]
    kindless = {"name": "kindless"}
    names = [tool(f"a name\n{number}", description="x" * 100_000) for number in range(20)]
    return [tool("fine"), *odd, kindless, tool(5), big, *names]


def say(**fields: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")
    sys.stdout.flush()


def main(mode: str) -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        number = asked.get("id")
        match asked.get("method"):
            case "initialize":
                result = {
                    "protocolVersion": asked["params"]["protocolVersion"],
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "odd", "version": "1"},
                }
                say(id=number, result=result)
            case "tools/list":
                say(id=number, result={"tools": tools(mode)})
                if mode == "changes":
                    say(method="notifications/tools/list_changed")
            case "tools/call":
                say(id=number, result={"content": [{"type": "odd", "text": 5}]})
            case _ if number is not None:
                say(id=number, error={"code": -32601, "message": "no"})


if __name__ == "__main__":
    main(sys.argv[1])
