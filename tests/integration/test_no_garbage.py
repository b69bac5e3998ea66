"""Nothing that is done for each event leaves cycles behind: looking for them costs more than it."""

import gc
from collections.abc import Iterator

import pytest

from cortex.runtime.kernel import Runtime

from .kernel_staff import Counter, Crew, Doer, JobAsked, Vocal, wait_for

JOBS = 300
STRAY = JOBS // 10  # objects, of whatever else the process does meanwhile


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("worker", [Doer, Crew])
def test_a_job_from_request_to_result_leaves_no_cycles(worker: type[Doer]) -> None:
    with Runtime(components=[Vocal, worker, Counter]) as runtime:
        me = runtime.client("me")
        me.publish(JobAsked(n=0))
        wait_for(me, "job.done")
        gc.collect()
        for number in range(1, JOBS + 1):  # each a batch of its own
            me.publish(JobAsked(n=number))
        wait_for(me, "job.done", JOBS + 1)

        assert gc.collect() < STRAY
