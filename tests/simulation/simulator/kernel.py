"""What the simulator drives inside the kernel, and the kernel's front does not show."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # type checkers find it in the checkout, Python where Cortex is installed
    from runtime.kernel import supervision
    from runtime.kernel.component import contract_of
    from runtime.kernel.component_manager import STALL_NS
    from runtime.kernel.feed import Feeding, Idle, Pause, Program, Quiet, Step, ordered, work
    from runtime.kernel.host import LocalHost, Outcome
    from runtime.kernel.leases import Leases
    from runtime.kernel.recall import MemorySnapshots, Recall, Snapshots
else:
    from cortex.runtime.kernel import supervision
    from cortex.runtime.kernel.component import contract_of
    from cortex.runtime.kernel.component_manager import STALL_NS
    from cortex.runtime.kernel.feed import (
        Feeding,
        Idle,
        Pause,
        Program,
        Quiet,
        Step,
        ordered,
        work,
    )
    from cortex.runtime.kernel.host import LocalHost, Outcome
    from cortex.runtime.kernel.leases import Leases
    from cortex.runtime.kernel.recall import MemorySnapshots, Recall, Snapshots

__all__ = [
    "STALL_NS",
    "Feeding",
    "Idle",
    "Leases",
    "LocalHost",
    "MemorySnapshots",
    "Outcome",
    "Pause",
    "Program",
    "Quiet",
    "Recall",
    "Snapshots",
    "Step",
    "contract_of",
    "ordered",
    "supervision",
    "work",
]
