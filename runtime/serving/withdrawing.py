"""What a client announced goes with its grant: it cannot take it back itself any more.

A worker that was killed, or is out of reach, keeps what it announced: its grant stands, and its
work waits for it or for another.
"""

from functools import partial

import structlog

from cortex.bus import Client, CortexError, LocalHub
from cortex.runtime.access import HubAccess
from cortex.runtime.kernel import withdraw_said_by

log = structlog.get_logger("cortex.serving")


def withdraw_with_grants(access: HubAccess, hub: LocalHub, client: Client) -> None:
    """From now on, withdraw in the name of *client* what those announced who are let in no more.

    Another worker that hosts the same announces it again.
    """

    def withdraw(name: str) -> None:
        if access.standing(name):
            return
        try:
            withdraw_said_by(client, name)
        except CortexError as error:  # its steps wait then, as those of a killed worker do
            log.warning("not_withdrawn", client=name, error=str(error))

    def changed(name: str) -> None:
        # Not here: whoever published the grant is still inside the hub with it.
        hub.alarm(hub.steady_ns(), partial(withdraw, name))

    access.watch(changed)
