"""What a step may use, and what happens when it fails: retry, needs, budget, on_failure."""

import re

from ..executable.linked import Budget, Needs, Retry
from .definitions import FailureDefinition
from .forms import Boolean, Choice, Key, ListOf, MapForm, Number, OneOf, wrong_type
from .nodes import MappingNode, Node, Reporter, ScalarNode
from .readers import NAME, PARAMETERS, PUBLIC_NAME

SECTIONS = (
    "persona",
    "instructions",
    "directives",
    "tools",
    "knowledge",
    "memory",
    "history",
    "step",
)
_LEVEL = Choice(("low", "medium", "high"))
_LARGE = 10**12
# Names that a need must not contain. Not a list of models: it only makes the message better, since
# unknown keys of `needs` are refused anyway.
_VENDOR = re.compile(
    r"model|vendor|provider|claude|anthropic|gpt|openai|gemini|google|llama|mistral|mixtral"
    r"|qwen|deepseek|grok|cohere|sonnet|opus|haiku|bedrock|ollama",
    re.IGNORECASE,
)

RETRY = MapForm(
    "`retry`",
    lambda **values: Retry(**{**values, "on": tuple(values.get("on", ()))}),
    {
        "attempts": Key(Number(1, 100), "how often in all, the first one included", required=True),
        "backoff_s": Key(Number(0, 86_400, whole=False), "seconds before the second attempt"),
        "factor": Key(Number(1, 100, whole=False), "each wait is this much longer than the last"),
        "max_backoff_s": Key(Number(0, 86_400, whole=False), "the longest wait in seconds"),
        "on": Key(ListOf(PUBLIC_NAME, or_one=True), "kinds of failure; every kind unless given"),
    },
    with_node=False,
)

_NEEDS = MapForm(
    "`needs`",
    Needs,
    {
        "reasoning": Key(_LEVEL, "how much reasoning the work takes"),
        "code": Key(_LEVEL, "how much the work is about code"),
        "speed": Key(_LEVEL, "how much it matters that the answer comes soon"),
        "sensitivity": Key(
            Choice(("public", "internal", "local")), "where the data may go; local: nowhere"
        ),
        "context_tokens": Key(Number(1, 100_000_000), "how large a context has to fit"),
        "extractive": Key(
            Boolean(), "quotations of its context will do where no model meets the other needs"
        ),
    },
    with_node=False,
)


def report_vendor(node: Node, name: str, reporter: Reporter) -> bool:
    """Report *name* if it looks like a vendor or a model; return whether it did."""
    if not _VENDOR.search(name):
        return False
    reporter.report("P110", f"`{name[:60]}` names a vendor or a model, not a need", node)
    return True


def _read_needs(node: Node, reporter: Reporter, label: str) -> Needs | None:
    if not isinstance(node, MappingNode):
        text = node.text if isinstance(node, ScalarNode) else ""
        if not report_vendor(node, text, reporter):
            wrong_type(node, reporter, label, "a map of needs")
        return None
    needs = MappingNode(node.start, flow=node.flow)
    needs.end = node.end
    for name, (key, value) in node.entries.items():
        text = value.text if isinstance(value, ScalarNode) and not value.trap else ""
        suspect = (value, text) if name in _NEEDS.keys else (key, name)
        if not report_vendor(*suspect, reporter):
            needs.entries[name] = (key, value)
    read: Needs | None = _NEEDS.read(needs, reporter, label)
    return read


NEEDS = OneOf(_read_needs, (_NEEDS.schema,))

_SECTIONS = MapForm(
    "`sections`",
    lambda **values: tuple(sorted(values.items())),
    {name: Key(Number(0, _LARGE), f"tokens for {name}") for name in SECTIONS},
    with_node=False,
)
BUDGET = MapForm(
    "`budget`",
    Budget,
    {
        "tokens": Key(Number(1, _LARGE), "tokens in all"),
        "cost": Key(Number(0, _LARGE, whole=False), "US dollars in all"),
        "time_s": Key(Number(0, _LARGE, whole=False), "seconds in all"),
        "turns": Key(
            Number(1, 100_000),
            "how often the model may be asked; 12 unless given, towards a goal 30",
        ),
        "sections": Key(_SECTIONS, "tokens of the context by section"),
    },
    with_node=False,
)

STRATEGY = Choice(("pre-assembled", "just-in-time"))

_FAILURE_STEP = MapForm(
    "`on_failure`",
    lambda step, node: FailureDefinition(policy="step", target=step, node=node),
    {"step": Key(NAME, "the later step at which to go on", required=True)},
)
_FAILURE_BACK = MapForm(
    "`on_failure`",
    lambda back_to, node, times=1: FailureDefinition(
        policy="back_to", target=back_to, times=times, node=node
    ),
    {
        "back_to": Key(NAME, "the earlier step from which to try again", required=True),
        "times": Key(Number(1, 100), "how often at most; once unless given, then it halts"),
    },
)
_FAILURE_PROCESS = MapForm(
    "`on_failure`",
    lambda process, node, parameters=None: FailureDefinition(
        policy="process", target=process, parameters=parameters, node=node
    ),
    {
        "process": Key(PUBLIC_NAME, "the process to run", required=True),
        "with": Key(PARAMETERS, "its inputs", field="parameters"),
    },
)
_FAILURES = {"process": _FAILURE_PROCESS, "back_to": _FAILURE_BACK, "step": _FAILURE_STEP}
_POLICY = Choice(("halt", "continue"))


def _read_failure(node: Node, reporter: Reporter, label: str) -> FailureDefinition | None:
    if isinstance(node, MappingNode):
        keys = (key for key in _FAILURES if key in node.entries)
        record = _FAILURES[next(keys, "step")]
        failure: FailureDefinition | None = record.read(node, reporter, label)
        return failure
    policy = _POLICY.read(node, reporter, label)
    return FailureDefinition(policy=policy, node=node) if policy else None


ON_FAILURE = OneOf(
    _read_failure,
    (_POLICY.schema, _FAILURE_STEP.schema, _FAILURE_BACK.schema, _FAILURE_PROCESS.schema),
)
