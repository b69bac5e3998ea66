"""A server that is a program: lines of JSON over its standard streams, with a length limit.

The SDK's own transport stores an endless line until memory is full, and scans it
again with each chunk. This one ends a server that writes such a line, or that writes no JSON.
"""

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from cortex.runtime.isolation import signal_group

LINE_BYTES = 16 << 20  # of one message
UNREADABLE = 100  # lines in a row that are not messages
FLUSH_S = 0.5  # time to write accepted messages
END_S = 2.0  # time to end by itself, and again after a signal


@asynccontextmanager
async def over_stdio(
    command: Sequence[str],
    environment: Mapping[str, str],
    errors: int,
    ended: Callable[[str], None],
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server that this block starts, and ends with all its child processes.

    Args:
        command: Its program and arguments.
        environment: All its variables.
        errors: The descriptor for its standard error.
        ended: Called with the reason if this module ends it.

    Raises:
        OSError: The program cannot be started.
    """
    import anyio

    transport, process = await _started(command, environment, errors)
    arrived, read = anyio.create_memory_object_stream[Any](0)
    write, leaving = anyio.create_memory_object_stream[Any](0)
    reading = asyncio.create_task(_read(process, arrived, ended))
    writing = asyncio.create_task(_write(process, leaving, arrived))
    try:
        yield read, write
    finally:
        read.close()
        write.close()
        try:
            await asyncio.wait({writing}, timeout=FLUSH_S)
            await asyncio.shield(_end(process))
            for task in (reading, writing):
                task.cancel()
            await asyncio.wait({reading, writing})
        finally:  # a loop that ends may cancel this, too
            _kill(transport)
            for stream in (arrived, leaving):
                stream.close()


async def _started(
    command: Sequence[str], environment: Mapping[str, str], errors: int
) -> tuple[asyncio.SubprocessTransport, asyncio.subprocess.Process]:
    # Not create_subprocess_exec, whose transport cannot be closed while its reading is paused.
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: asyncio.subprocess.SubprocessStreamProtocol(limit=LINE_BYTES, loop=loop),
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
        env=dict(environment),
        start_new_session=True,
    )
    return transport, asyncio.subprocess.Process(transport, protocol, loop)


async def _read(
    process: asyncio.subprocess.Process, arrived: Any, ended: Callable[[str], None]
) -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    bad = 0
    async with arrived:
        while line := await _line(process, ended):
            item: SessionMessage | Exception
            try:
                message = jsonrpc_message_adapter.validate_json(line.decode(), by_name=False)
                item = SessionMessage(message)
                bad = 0
            except ValueError as error:
                item, bad = error, bad + 1
            if bad > UNREADABLE:
                ended(f"it wrote over {UNREADABLE} lines that are not messages")
                return
            try:
                await arrived.send(item)
            except _closed():
                return


async def _line(process: asyncio.subprocess.Process, ended: Callable[[str], None]) -> bytes:
    """The next line; b"" at the end."""
    if process.stdout is None:
        return b""
    try:
        return await process.stdout.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return b""
    except asyncio.LimitOverrunError:
        ended(f"it wrote a line of more than {LINE_BYTES >> 20} MiB")
        return b""


async def _write(process: asyncio.subprocess.Process, leaving: Any, arrived: Any) -> None:
    try:
        async with leaving:
            async for each in leaving:
                data = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                if process.stdin is not None:
                    process.stdin.write(data.encode(errors="replace") + b"\n")
                    await process.stdin.drain()
    except _closed():
        # It may be alive: otherwise a request would wait for its answer for ever.
        await arrived.aclose()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Wait for its end, terminate it, kill it: with all its child processes."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            signal_group(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), END_S)
            break
    signal_group(process.pid)  # its remaining child processes


def _kill(transport: asyncio.SubprocessTransport) -> None:
    """Kill what still runs, and wait for it here: the loop may not turn again."""
    program = transport.get_extra_info("subprocess")
    if program.returncode is None:
        signal_group(program.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(END_S)
    transport.close()


def _closed() -> tuple[type[Exception], ...]:
    import anyio

    return OSError, anyio.ClosedResourceError, anyio.BrokenResourceError
