"""What systemd is told of a service of `Type=notify`: sd_notify(3), which is one datagram."""

import contextlib
import os
import socket

VARIABLE = "NOTIFY_SOCKET"


def tell_systemd(state: str) -> None:
    """Say *state*, such as "READY=1"; nothing where nobody wants to know."""
    path = os.environ.get(VARIABLE, "")
    if not path:
        return
    if path.startswith("@"):  # in the abstract namespace
        path = "\0" + path[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as knock, contextlib.suppress(OSError):
        knock.sendto(state.encode(), path)
