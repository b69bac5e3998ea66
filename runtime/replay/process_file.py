"""Compiles another version of the process that an execution ran, in memory: nothing is recorded."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cortex.bus.events import ExecutionStarted
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import RefusedError
from cortex.runtime.processes import (
    LinkedProcess,
    LinkedTopic,
    Sources,
    compile_sources,
    errors_of,
    listed,
    parse,
)
from cortex.runtime.registry import STREAM, registry_of
from cortex.runtime.sessions import (
    RejectedError,
    mask_of,
    source_at,
    sources_of,
    symbols_of,
    topics_of,
)


def process_in_file(history: History, execution_id: str, path: Path) -> LinkedProcess:
    """The version of the process of an execution that is in the file at *path*.

    It is linked with what the home serves now, and with what was served when the execution began.
    A topic that the execution knew keeps the content that it had then.

    Raises:
        NotFoundError: There is no such file.
        RejectedError: It has errors; one may be that nothing serves an action or a gate.
        RefusedError: It holds another process, or the execution ran none.
    """
    started = ran_process(history, execution_id)
    file, text = source_at(path)
    home, text = history.home, mask_of(history.home).text(text)
    found = {(each.name, each.version) for each in parse(text, file).definitions}
    then = registry_of(history.stream(STREAM), history.event, before=_begun_at(history, started))
    compilation = compile_sources(
        {**_around(sources_of(home), file, found), file: text},
        symbols_of(home, then),
        topics_of(home),
    )
    own = [each for each in compilation.diagnostics if each.file == file]
    if errors := errors_of(own):
        raise RejectedError(file, str(errors[0]), len(errors))
    units = (each for key, each in compilation.units.items() if key[0] == file)
    linked = [each.linked for each in units if isinstance(each.linked, LinkedProcess)]
    fitting = [each for each in linked if each.name == started.process and not each.abstract]
    if not fitting:
        names = listed(sorted(name for name, _ in found)) or "no process"
        raise RefusedError(
            f"{path} has {names}, and execution {execution_id} ran {started.process}: "
            f"name a file with a version of {started.process}"
        )
    newest = max(fitting, key=lambda each: each.version)
    return _with_topics(
        newest, msgspec.json.decode(history.blobs.get(started.linked), type=LinkedProcess)
    )


def ran_process(history: History, execution_id: str) -> ExecutionStarted:
    """How an execution of a process began.

    Raises:
        RefusedError: It ran no process, or is one item of a step of another execution.
    """
    history.refuse_erased(execution_id)
    state = history.execution(execution_id)
    started = state.started
    if started is None:
        raise RefusedError(f"execution {execution_id} never began: there is nothing to replay")
    if started.part is not None:
        raise RefusedError(
            f"execution {execution_id} is an item of {started.parent}: name that execution"
        )
    if not (started.process and started.linked):
        raise RefusedError(
            f"execution {execution_id} ran no process: name one that `cortex run PROCESS` began"
        )
    return started


def _begun_at(history: History, started: ExecutionStarted) -> int:
    for record in history.stream(started.stream()):
        if record.topic == ExecutionStarted.topic_name():
            return record.position
    return 0


def _around(sources: Sources, file: str, found: set[tuple[str, int]]) -> dict[str, str]:
    """The sources of the home, without those that define a version which *file* has, too."""
    return {
        name: text
        for name, text in sources.texts.items()
        if name != file
        and found.isdisjoint((e.name, e.version) for e in parse(text, name).definitions)
    }


def _with_topics(process: LinkedProcess, recorded: LinkedProcess) -> LinkedProcess:
    """*process*, with each topic as *recorded* has it: its file may have changed since."""
    known = {topic.topic: topic for step in recorded.steps for topic in step.knowledge}
    known |= {topic.topic: topic for topic in recorded.knowledge}

    def then(topics: Iterable[LinkedTopic]) -> tuple[LinkedTopic, ...]:
        return tuple(known.get(each.topic, each) for each in topics)

    steps = tuple(replace(step, knowledge=then(step.knowledge)) for step in process.steps)
    return replace(process, knowledge=then(process.knowledge), steps=steps)
