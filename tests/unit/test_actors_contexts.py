"""From a step's request to a prompt: knowledge as it is now, results as they are offered."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.actors.engines import CompilationEngine, request_of
from cortex.bus import Event
from cortex.bus.events import (
    ComponentAnnounced,
    ComponentWithdrawn,
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    ModelSelected,
)
from cortex.runtime.context import (
    ENCODINGS,
    ContextCompiler,
    Manifest,
    Offer,
    TokenCounter,
    items_of,
    prompt_text,
)
from cortex.runtime.kernel import Config
from cortex.runtime.knowledge import KnowledgeError, read_document
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.models import ModelDescription, Price

from .actors_world import delivery

SMALL = ModelDescription(name="small", window=100_000, local=True)
LARGE = ModelDescription(
    name="large", window=1_000_000, local=False, reasoning="high", price=Price(input=9)
)


def asked(**fields: Any) -> ContextCompile:
    return ContextCompile(
        execution_id="e1",
        step_id="s1",
        process="p",
        **{"description": "Say what failed", **fields},
    )


def topic(path: Path, name: str = "team.rota") -> dict[str, Any]:
    return {"topic": name, "path": str(path), "digest": read_document(path).digest}


def announced(model: ModelDescription) -> ComponentAnnounced:
    return ComponentAnnounced(
        component="Models", kind="model", name=model.name, traits=msgspec.to_builtins(model)
    )


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "rota.md"
    path.write_text("Ada is on call.\n")
    return path


# request_of


def test_knowledge_is_read_as_it_is_now(notes: Path) -> None:
    request, changed = request_of(asked(knowledge=(topic(notes),)), SMALL, Config())

    (item,) = request.items
    assert (item.id, item.section, item.trust) == ("team.rota", "knowledge", "trusted")
    assert (item.text, item.source) == ("Ada is on call.\n", str(notes))
    assert changed == ()


def test_knowledge_that_changed_since_it_was_linked_is_noted_under_its_new_digest(
    notes: Path,
) -> None:
    linked = topic(notes)
    notes.write_text("Bob is on call.\n")

    request, changed = request_of(asked(knowledge=(linked,)), SMALL, Config())

    assert changed == ("team.rota changed since the process was linked",)
    assert request.items[0].digest == read_document(notes).digest


def test_persona_and_instructions_come_from_the_process_and_the_configuration() -> None:
    config = Config.parse(
        '[context]\npersona = "You are the home\'s."\ninstructions = "Heed the home."\n'
    )

    plain, _ = request_of(asked(), SMALL, Config())
    home, _ = request_of(asked(), SMALL, config)
    both, _ = request_of(asked(persona="You review.", instructions="Cite."), SMALL, config)

    assert plain.persona.startswith("You carry out one step of a process.")
    assert plain.instructions == ""
    assert (home.persona, home.instructions) == ("You are the home's.", "Heed the home.")
    assert (both.persona, both.instructions) == ("You review.", "Heed the home.\nCite.")


def test_knowledge_that_is_gone_is_named(notes: Path) -> None:
    linked = topic(notes)
    notes.unlink()

    with pytest.raises(KnowledgeError, match=r"rota\.md"):
        request_of(asked(knowledge=(linked,)), SMALL, Config())


def test_small_parameters_are_shown_and_material_is_not() -> None:
    parameters = {"question": "When?", "limit": 3, "deep": True, "text": "x" * 401, "list": [1]}

    request, _ = request_of(asked(parameters=parameters), SMALL, Config())

    assert request.step.parameters == {"question": "When?", "limit": "3", "deep": "true"}


def test_a_long_text_that_a_step_was_given_is_in_the_prompt_whole_or_cut_as_the_manifest_says() -> (
    None
):
    question = "When is the harbour of the second of the four towns " * 10 + "closed?"
    log = "".join(f"line {n} of what the build said\n" for n in range(20_000))
    event = asked(parameters={"question": question, "log": log})

    request, _ = request_of(event, SMALL, Config())
    prompt = ContextCompiler().compile(request)

    said = {item.id: item.state for item in prompt.manifest.items}
    assert question in prompt.text
    assert said["with.question"] == "in"
    assert said["with.log"] == "partial"


@pytest.mark.parametrize(
    ("config", "budget", "window", "knowledge"),
    [
        ({}, {}, None, None),
        ({"context": {"window": 9_000}}, {}, 9_000, None),
        ({"context": {"window": 9_000}}, {"tokens": 5_000}, 5_000, None),
        ({"context": {"budgets": {"knowledge": 70}}}, {}, None, 70),
        (
            {"context": {"budgets": {"knowledge": 70}}},
            {"sections": [["knowledge", 50]]},
            None,
            50,
        ),
    ],
)
def test_what_the_step_lays_down_wins_over_the_configuration(
    config: dict[str, Any], budget: dict[str, Any], window: int | None, knowledge: int | None
) -> None:
    request, _ = request_of(asked(budget=budget), SMALL, msgspec.convert(config, Config))

    assert request.effective_window == window
    assert (request.budgets.knowledge if request.budgets else None) == knowledge


@pytest.mark.parametrize(
    ("configured", "said", "taken"),
    [
        ({}, "", "pre-assembled"),
        ({"strategy": "just-in-time"}, "", "just-in-time"),
        ({"strategy": "just-in-time"}, "pre-assembled", "pre-assembled"),
    ],
)
def test_the_strategy_of_the_step_wins_over_the_configuration(
    configured: dict[str, Any], said: str, taken: str
) -> None:
    config = msgspec.convert({"context": configured}, Config)

    request, _ = request_of(asked(strategy=said), SMALL, config)
    compiled = Compiling(SMALL, config=config).compiled(asked(strategy=said))

    assert (request.strategy, compiled.strategy) == (taken, taken)


# Offers.


def test_a_result_without_offers_is_shown_whole() -> None:
    (item,) = items_of("s1", {"count": 3})

    assert (item.id, item.kind, item.produced_by) == ("s1", "output", "s1")
    assert msgspec.json.decode(item.text) == {"count": 3}


def test_a_result_shows_what_it_offers_and_nothing_else() -> None:
    code = Offer(kind="code", id="a.py", text="x\ny", source="a.py", line_numbers=(3, 9))
    result = {"secret": 1, "context": [msgspec.to_builtins(code)]}

    (item,) = items_of("s1", result)

    assert (item.id, item.text, item.line_numbers) == ("s1/a.py", "x\ny", (3, 9))


@pytest.mark.parametrize("offers", ["text", [1], [{"text": "no kind"}], {"a": 1}, [{"kind": 1}]])
def test_a_field_that_is_called_context_and_holds_no_offers_is_a_field_like_others(
    offers: Any,
) -> None:
    (item,) = items_of("s1", {"context": offers})

    assert msgspec.json.decode(item.text) == {"context": offers}


OFFERED = st.lists(st.sampled_from(["", "1", "2", "3", "a", "a/2"]), min_size=1, max_size=6)


@given(ids=OFFERED)
@settings(max_examples=200, deadline=None)
def test_items_of_one_result_have_different_ids_and_keep_their_order(ids: list[str]) -> None:
    offers = [{"kind": "x", "id": each, "text": f"text {n}"} for n, each in enumerate(ids)]

    items = items_of("s1", {"context": offers})

    assert len({item.id for item in items}) == len(items)
    assert [item.text for item in items] == [offer["text"] for offer in offers]
    assert all(item.id == "s1" or item.id.startswith("s1/") for item in items)


# The engine.


class Compiling:
    """An engine that knows some models, and the blobs it writes to."""

    def __init__(self, *models: ModelDescription, config: Config | None = None) -> None:
        self.blobs = MemoryBlobs()
        self.engine = CompilationEngine(self.blobs, config or Config())
        for model in models:
            self.engine.announced(announced(model), delivery())

    def compile(self, event: ContextCompile) -> list[Event]:
        return [e for e in self.engine.compile(event, delivery()) if isinstance(e, Event)]

    def compiled(self, event: ContextCompile) -> ContextCompiled:
        selected, compiled = self.compile(event)
        assert isinstance(selected, ModelSelected)
        assert isinstance(compiled, ContextCompiled)
        assert selected.model == compiled.model
        return compiled

    def refused(self, event: ContextCompile) -> str:
        (refused,) = self.compile(event)
        assert isinstance(refused, ContextRefused)
        assert "\n" not in refused.reason
        return refused.reason


def test_a_prompt_and_its_manifest_are_stored_under_their_digests(notes: Path) -> None:
    world = Compiling(SMALL)
    event = asked(knowledge=(topic(notes),), carry={"read": {"count": 3}}, goal="triage")

    compiled = world.compiled(event)

    prompt = prompt_text(world.blobs.get(compiled.prompt))
    manifest = msgspec.json.decode(world.blobs.get(compiled.manifest), type=Manifest)
    assert "Ada is on call." in prompt
    assert '"count": 3' in prompt
    assert {entry.id for entry in manifest.items} == {"team.rota", "read"}
    assert (compiled.considered, compiled.included) == (2, 2)
    assert compiled.tokens == sum(compiled.sections.values()) <= compiled.window


def test_what_was_noted_and_left_out_is_said(notes: Path) -> None:
    linked = topic(notes)
    notes.write_text("<|im_start|>system\n" + "word " * 60_000)
    world = Compiling(SMALL)

    compiled = world.compiled(asked(knowledge=(linked,)))

    assert compiled.actions[0] == "team.rota changed since the process was linked"
    assert any(action.startswith("team.rota ") for action in compiled.actions[1:])


def test_equal_requests_give_equal_prompts(notes: Path) -> None:
    event = asked(knowledge=(topic(notes),))

    assert Compiling(SMALL).compiled(event).prompt == Compiling(SMALL).compiled(event).prompt


def test_tokens_are_counted_as_the_model_counts_them() -> None:
    event = asked(carry={"read": {"text": "Невозможно прочитать журнал сборки. " * 50}})
    older = msgspec.structs.replace(SMALL, encoding="cl100k_base")

    new, old = Compiling(SMALL).compiled(event), Compiling(older).compiled(event)

    assert new.tokens < old.tokens


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"needs": {"reasoning": "high"}}, "no model meets what the step needs: small lacks"),
        ({"description": "x " * 90_000}, "over the"),
        ({"knowledge": ({"topic": "a", "path": "/gone", "digest": ""},)}, "/gone"),
        (
            {"carry": {"s": {"context": [{"kind": "x", "text": "a\nb", "line_numbers": [1]}]}}},
            "item s has 2 lines and 1 line numbers: ",
        ),
    ],
)
def test_a_context_that_cannot_be_compiled_is_refused_with_the_reason(
    fields: dict[str, Any], reason: str
) -> None:
    assert reason in Compiling(SMALL).refused(asked(**fields))


def test_a_topic_and_a_step_of_one_name_are_refused_by_name(notes: Path) -> None:
    event = asked(knowledge=(topic(notes, "notes"),), carry={"notes": {"count": 3}})

    assert "two items have the id notes" in Compiling(SMALL).refused(event)


def test_for_a_tokenizer_that_nobody_knows_the_count_is_an_upper_bound_and_says_so() -> None:
    event = asked(carry={"read": {"text": "Невозможно прочитать 🎉 журнал. " * 50}})
    odd = msgspec.structs.replace(SMALL, encoding="odd")
    world = Compiling(odd)

    compiled = world.compiled(event)
    prompt = prompt_text(world.blobs.get(compiled.prompt))
    manifest = msgspec.json.decode(world.blobs.get(compiled.manifest), type=Manifest)

    assert (manifest.encoding, manifest.exact) == ("odd", False)
    assert compiled.tokens == manifest.tokens == sum(manifest.sections.values())
    assert compiled.tokens + compiled.headroom <= compiled.window
    for encoding in ENCODINGS:
        assert TokenCounter(encoding).count(prompt) <= compiled.tokens


def test_models_come_and_go() -> None:
    world = Compiling(SMALL, LARGE)
    gone = ComponentWithdrawn(component="Models", kind="model", name="small")

    before = world.compiled(asked()).model
    world.engine.withdrawn(gone, delivery())

    assert (before, world.compiled(asked()).model) == ("small", "large")


def test_the_configured_model_is_taken_where_it_meets_the_needs() -> None:
    config = msgspec.convert({"models": {"default": "large"}}, Config)
    world = Compiling(SMALL, LARGE, config=config)

    assert world.compiled(asked()).model == "large"
    assert world.compiled(asked(needs={"sensitivity": "local"})).model == "small"


def test_a_model_that_does_not_describe_itself_is_passed_over_also_after_a_restart() -> None:
    world, odd = Compiling(SMALL), ComponentAnnounced(component="Odd", kind="model", name="odd")

    world.engine.announced(odd, delivery())
    world.engine.recall(odd, delivery())

    assert world.compiled(asked()).model == "small"


def test_a_model_is_forgotten_when_it_no_longer_describes_itself() -> None:
    world = Compiling(SMALL, LARGE)
    odd = ComponentAnnounced(component="Models", kind="model", name="small", traits={"window": "x"})

    world.engine.announced(odd, delivery())

    assert world.compiled(asked()).model == "large"


def test_recalling_what_was_announced_gives_the_models_that_were_there() -> None:
    live, again = Compiling(SMALL, LARGE), Compiling()
    for model in (SMALL, LARGE):
        again.engine.recall(announced(model), delivery())

    assert again.compile(asked()) == live.compile(asked())


def test_a_snapshot_holds_the_models_that_were_there() -> None:
    live, again = Compiling(SMALL, LARGE), Compiling()

    again.engine.restore(live.engine.snapshot())

    assert again.compile(asked()) == live.compile(asked())


def test_the_compiler_of_the_engine_is_the_one_of_the_context_room(notes: Path) -> None:
    event = asked(knowledge=(topic(notes),))
    request, _ = request_of(event, SMALL, Config())
    world = Compiling(SMALL)

    assert world.compiled(event).prompt == ContextCompiler().compile(request).digest
