"""A program: a hub under TLS at an address, until its standard input ends."""

import sys
from pathlib import Path

from cortex.bus import Hub, HubServer, LocalHub, ServerTls, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY
from cortex.runtime.access import hub_certificate
from cortex.runtime.log import EventLog


def main(folder: Path, host: str) -> None:
    log = EventLog.open(folder / "log.db")
    hub = LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock())
    server = HubServer(hub, log)
    shown = hub_certificate(folder)
    url = server.listen(f"tls+tcp://{host}:0", tls=ServerTls(Path(shown.path)))
    sys.stdout.write(f"{url}#{shown.sha256}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.close()
    hub.close()
    log.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
