"""A server of one tool over stdio: `python chaos_server.py FOLDER`; it may be killed any time.

Written without the SDK, whose import would take most of the time between two kills.
"""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

NO_METHOD = -32601
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "seconds": {"type": "number"}},
    "required": ["name", "seconds"],
}
TOOL = {"name": "mark", "description": "Leave a line.", "inputSchema": SCHEMA}
writing = threading.Lock()


def answer(number: object, **what: Any) -> None:
    """Write one message."""
    with writing:
        print(json.dumps({"jsonrpc": "2.0", "id": number, **what}), flush=True)  # noqa: T201  # the protocol itself


def mark(number: object, name: str, seconds: float) -> None:
    """Leave a line in the file of that name, and take some time."""
    with (Path(sys.argv[1]) / name).open("a") as file:
        file.write("tool\n")
    time.sleep(seconds)
    answer(number, result={"content": [{"type": "text", "text": "marked"}]})


def main() -> None:
    """Answer until standard input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        method, number, given = asked.get("method"), asked.get("id"), asked.get("params") or {}
        if number is None:
            continue
        if method == "initialize":
            said = {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}}
            answer(number, result={**said, "serverInfo": {"name": "marks", "version": "1"}})
        elif method == "tools/list":
            answer(number, result={"tools": [TOOL]})
        elif method == "tools/call":
            arguments = given["arguments"]
            threading.Thread(
                target=mark, args=(number, arguments["name"], arguments["seconds"]), daemon=True
            ).start()
        elif method == "ping":
            answer(number, result={})
        else:
            answer(number, error={"code": NO_METHOD, "message": f"unknown method {method}"})


if __name__ == "__main__":
    main()
