"""What a hub that is up goes by, compared with what is on disk; nothing is stopped for it."""

from cortex.bus.events import RuntimeAnswer, RuntimeGet
from cortex.runtime.kernel import Home

from .. import connected, found

PATIENCE_S = 30.0  # a hub with much waiting work reads it all


def live_differences(home: Home) -> tuple[str, ...] | None:
    """Rows of the log's tables that are not as the hub has them; None where no hub is up.

    Raises:
        HubSilentError: One is up, and does not answer.
    """
    if not found(home):
        return None
    with connected(home, "state") as client:
        answer = client.ask(RuntimeGet(check=True), PATIENCE_S)
    return answer.astray if isinstance(answer, RuntimeAnswer) else ()
