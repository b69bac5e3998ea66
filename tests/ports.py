"""Ports on this machine that nobody else gets between being found free and being listened on."""

import random
import socket
from contextlib import closing

# Below those that the system gives to whoever asks for any port, as every client does.
FIRST, LAST = 20_000, 32_000


def free_port() -> int:
    """A port on which nobody listens."""
    while True:
        port = random.SystemRandom().randrange(FIRST, LAST)
        with closing(socket.socket()) as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
