"""A program: a hub on the log of a folder, at an address, until it is killed."""

import signal
import sys
from pathlib import Path

from cortex.bus import Hub, HubServer, LocalHub, ServerTls, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY
from cortex.runtime.access import hub_certificate
from cortex.runtime.log import EventLog


def main(folder: Path, url: str) -> None:
    log = EventLog.open(folder / "log.db")
    hub = LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock())
    server = HubServer(hub, log)
    pin, tls = "", None
    if url.startswith("tls"):
        shown = hub_certificate(folder)
        tls, pin = ServerTls(Path(shown.path)), f"#{shown.sha256}"
    sys.stdout.write(f"{server.listen(url, tls=tls)}{pin}\n")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
