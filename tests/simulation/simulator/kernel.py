"""What the simulator drives inside the kernel, and the kernel's front does not show."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # type checkers find it in the checkout, Python where Cortex is installed
    from runtime.kernel.component_manager import STALL_NS
    from runtime.kernel.components.component import contract_of
    from runtime.kernel.hosts.closable_history import ClosableHistory
    from runtime.kernel.hosts.host import Effects, LocalHost, Outcome
    from runtime.kernel.shells import supervision
    from runtime.kernel.shells.at_once import AtOnce
    from runtime.kernel.shells.feed import Feeding, Idle, Pause, Program, Quiet, Step
    from runtime.kernel.shells.leases import Leases
    from runtime.kernel.shells.ordered import OrderedFeed
    from runtime.kernel.shells.recall import MemorySnapshots, Recall, Snapshots
    from runtime.kernel.shells.workers import work
else:
    from cortex.runtime.kernel.component_manager import STALL_NS
    from cortex.runtime.kernel.components.component import contract_of
    from cortex.runtime.kernel.hosts.closable_history import ClosableHistory
    from cortex.runtime.kernel.hosts.host import Effects, LocalHost, Outcome
    from cortex.runtime.kernel.shells import supervision
    from cortex.runtime.kernel.shells.at_once import AtOnce
    from cortex.runtime.kernel.shells.feed import Feeding, Idle, Pause, Program, Quiet, Step
    from cortex.runtime.kernel.shells.leases import Leases
    from cortex.runtime.kernel.shells.ordered import OrderedFeed
    from cortex.runtime.kernel.shells.recall import MemorySnapshots, Recall, Snapshots
    from cortex.runtime.kernel.shells.workers import work

__all__ = [
    "STALL_NS",
    "AtOnce",
    "ClosableHistory",
    "Effects",
    "Feeding",
    "Idle",
    "Leases",
    "LocalHost",
    "MemorySnapshots",
    "OrderedFeed",
    "Outcome",
    "Pause",
    "Program",
    "Quiet",
    "Recall",
    "Snapshots",
    "Step",
    "contract_of",
    "supervision",
    "work",
]
