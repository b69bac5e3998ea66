"""Starts the execution of a request, or says why not."""

import msgspec
from msgspec.structs import replace

from cortex.bus.events import ExecutionRequest, ExecutionStarted
from cortex.runtime.executions import DECIDER, ENGINE, checked_inputs, too_large
from cortex.runtime.kernel import Delivery
from cortex.runtime.log import Blobs
from cortex.runtime.processes import LinkedProcess

from .catalogue import Catalogue
from .choosing import Preferences, Refusal, for_request
from .goals import Goals


class Starter:
    """Starts executions of processes, and ad-hoc ones.

    Args:
        max_cost: Default cost limit in US dollars; None: no limit.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        preferences: Preferences,
        goals: Goals,
        blobs: Blobs,
        max_cost: float | None,
    ) -> None:
        self._catalogue, self._preferences, self._goals = catalogue, preferences, goals
        self._blobs, self._max_cost = blobs, max_cost

    def start(self, event: ExecutionRequest, delivery: Delivery) -> ExecutionStarted | Refusal:
        """The start of the execution that *event* requests, or the reason why there is none."""
        if event.step:
            started = self._led(event, delivery)
        elif event.process:
            started = self._of_process(event, delivery)
        else:
            started = self._started(event, None, "", dict(event.inputs))
        problem = "" if isinstance(started, Refusal) else too_large(started)
        return Refusal(problem) if problem else started

    def _of_process(
        self, event: ExecutionRequest, delivery: Delivery
    ) -> ExecutionStarted | Refusal:
        version = event.process_version
        chosen = for_request(self._catalogue, self._preferences, event.process, version)
        if isinstance(chosen, Refusal):
            return chosen
        process = chosen.process
        inputs, wrong = checked_inputs(process.inputs, event.inputs)
        if wrong:
            return Refusal(f"the inputs of {process.name} are wrong: {'; '.join(wrong)}")
        started = self._started(event, process, self._catalogue.linked(process), inputs)
        if delivery.source != ENGINE:
            return started
        # A child takes what is on record as its parent does.
        return replace(started, fork_of=event.fork_of, variation=event.variation)

    def _led(self, event: ExecutionRequest, delivery: Delivery) -> ExecutionStarted | Refusal:
        """Ad-hoc work towards a goal."""
        if event.process or event.inputs:
            return Refusal("a request with a goal is ad-hoc work: name no process and no inputs")
        refused = self._goals.refused(delivery.source, delivery.time_ns)
        if refused:
            return Refusal(refused)
        process = self._goals.linked(event, self._catalogue.table, delivery.position)
        if isinstance(process, Refusal):
            return process
        return self._started(event, process, self._blobs.put(msgspec.json.encode(process)), {})

    def _started(
        self,
        request: ExecutionRequest,
        process: LinkedProcess | None,
        linked: str,
        inputs: dict[str, object],
    ) -> ExecutionStarted:
        return ExecutionStarted(
            execution_id=request.execution_id,
            process=process.name if process else "",
            process_version=process.version if process else 0,
            digest=process.digest if process else "",
            linked=linked,
            inputs=inputs,
            goal=request.goal,
            workspace=request.workspace,
            trigger=request.trigger,
            parent=request.parent,
            parent_step=request.parent_step,
            breakpoints=request.breakpoints,
            max_cost=self._max_cost if request.max_cost is None else request.max_cost,
            decider=DECIDER,
        )
