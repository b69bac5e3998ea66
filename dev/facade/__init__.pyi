from msgspec import Struct as Struct

from cortex.actors.providers.calls import provider as provider
from cortex.actors.tools import tool as tool
from cortex.bus import (
    Blobs as Blobs,
    Client as Client,
    CortexError as CortexError,
    Ephemeral as Ephemeral,
    Event as Event,
    Query as Query,
)
from cortex.plugins import (
    FileWant as FileWant,
    Limits as Limits,
    Manifest as Manifest,
    Wants as Wants,
)
from cortex.runtime.functions import (
    Path as Path,
    Step as Step,
    StepError as StepError,
    Verdict as Verdict,
    action as action,
    gate as gate,
    on as on,
)
from cortex.runtime.kernel import (
    AsyncComponent as AsyncComponent,
    Component as Component,
    Delivery as Delivery,
    Forget as Forget,
    Home as Home,
    Later as Later,
    Runtime as Runtime,
)
from cortex.runtime.serving import connect as connect

from . import events as events
from . import testing as testing

__all__ = [
    "AsyncComponent",
    "Blobs",
    "Client",
    "Component",
    "CortexError",
    "Delivery",
    "Ephemeral",
    "Event",
    "FileWant",
    "Forget",
    "Home",
    "Later",
    "Limits",
    "Manifest",
    "Path",
    "Query",
    "Runtime",
    "Step",
    "StepError",
    "Struct",
    "Verdict",
    "Wants",
    "action",
    "connect",
    "events",
    "gate",
    "on",
    "provider",
    "testing",
    "tool",
]
