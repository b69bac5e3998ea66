"""How long do 1,000 processes take to compile, and one changed file of them to be checked again?

Each process has eight steps; a third of them extend another one. The limit is PyYAML's C loader
reading the same text and doing nothing with it. One core, no I/O; the figures are seconds of that
core, the median of five runs.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable

import yaml
from measure import Ratios, quickly, ratio, stamp

from cortex.runtime.processes import Compilation, TopicTable, compile_sources
from cortex.runtime.registry import ActionSpec, GateSpec, Symbols

PROCESSES = 1_000
STEPS = 8
RUNS = 5
GOAL_ALL_S = 2.0
GOAL_ONE_S = 0.050

ACTIONS = [f"action_{number}" for number in range(40)]
GATES = [f"gate_{number}" for number in range(10)]
TOPICS = {f"engineering.topic_{number}": f"engineering/topic_{number}.md" for number in range(50)}
PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["path"],
}
RESULT = {
    "type": "object",
    "properties": {"report": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["report", "count"],
}
REGISTRY = Symbols(
    [
        ActionSpec(name=name, component="Worker", parameters=PARAMETERS, result=RESULT)
        for name in ACTIONS
    ],
    [GateSpec(name=name, component="Judge") for name in GATES],
)


def source(number: int) -> str:
    child = number % 3 == 0 and number > 0
    lines = [f"process: process_{number}", "version: 1", f"description: Process number {number}"]
    if child:
        lines.append(f"extends: process_{number - 1}")
    lines += [
        "trigger:",
        "  type: event",
        "  match:",
        "    source: ci",
        f"    number: {number}",
        "inputs:",
        "  path: string",
        "knowledge:",
        *(f"  - engineering.topic_{(number + each) % len(TOPICS)}" for each in range(3)),
        "gates:",
        f"  - gate_{number % len(GATES)}",
        "steps:",
    ]
    prefix = "own" if child else "step"
    for step in range(STEPS):
        lines += [
            f"  - id: {prefix}_{step}" if step else "  - id: step_0",
            f"    action: {ACTIONS[(number + step) % len(ACTIONS)]}",
            f"    description: What is done in step {step} of process {number}",
            "    with:",
            "      path: ${inputs.path}",
        ]
        if step > 1:
            lines += [
                f"      limit: ${{steps.{prefix}_{step - 1}.count}}",
                f"    when: steps.{prefix}_{step - 1}.count > {step}",
            ]
        if step == STEPS - 1:
            lines += ["    gates:", f"      - gate_{(number + 1) % len(GATES)}"]
    return "\n".join(lines) + "\n"


def timed(function: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        gc.collect()
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def quick() -> Ratios:
    """Some processes compiled, to their text read as YAML."""
    sources = {f"process_{number}.yaml": source(number) for number in range(60)}
    topics = TopicTable(TOPICS)
    return {
        "compile": ratio(
            lambda: 1 / timed(lambda: compile_sources(sources, REGISTRY, topics)),
            lambda: 1 / timed(lambda: [yaml.load(t, yaml.CSafeLoader) for t in sources.values()]),
        )
    }


def main() -> int:
    quickly(quick)
    sources = {f"process_{number}.yaml": source(number) for number in range(PROCESSES)}
    topics = TopicTable(TOPICS)

    def compile_all(previous: Compilation | None = None) -> Compilation:
        return compile_sources(sources, REGISTRY, topics, previous=previous)

    compiled = compile_all()
    assert not compiled.errors, compiled.errors[:3]
    assert len(compiled.processes) == PROCESSES

    all_s = timed(compile_all)
    nothing_s = timed(lambda: compile_all(compiled))
    name = "process_500.yaml"
    sources[name] = sources[name].replace("version: 1", "version: 2")
    one_s = timed(lambda: compile_all(compiled))
    changed = compile_all(compiled).compiled
    limit_s = timed(lambda: [yaml.load(text, yaml.CSafeLoader) for text in sources.values()])

    size = sum(map(len, sources.values()))
    print(stamp())
    print(f"{PROCESSES:,} processes of {STEPS} steps, {size:,} bytes; median of {RUNS}")
    print(f"{'':34}{'seconds':>9}{'a process':>12}{'of the limit':>14}")
    for title, seconds in (
        ("compile all", all_s),
        ("limit: yaml CSafeLoader, same text", limit_s),
    ):
        each = seconds / PROCESSES * 1e6
        print(f"{title:34}{seconds:9.3f}{each:9.0f} us{seconds / limit_s:12.2f} x")
    print(f"{f'one changed ({len(changed)} compiled)':34}{one_s:9.4f}")
    print(f"{'nothing changed':34}{nothing_s:9.4f}")
    met = all_s < GOAL_ALL_S and one_s < GOAL_ONE_S
    print(f"goals: all < {GOAL_ALL_S} s, one < {GOAL_ONE_S} s: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
