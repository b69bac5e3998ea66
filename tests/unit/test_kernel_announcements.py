"""What components announce is told to the log when it has changed, and only then."""

from collections.abc import Iterator

import msgspec

from cortex.bus.events import ModelInvoke, StepExecute
from cortex.runtime.kernel import Component, Config, Delivery, Output, Runtime, Serves, on
from cortex.runtime.models import ModelConfig, ModelsConfig, describe


class Parts(msgspec.Struct, frozen=True):
    lines: tuple[int, ...] = ()  # a default that comes back from the log as a list


class Reader(Component):
    serves = (Serves("action", "read", Parts, Parts, traits={"sizes": (1, 2)}),)

    @on(StepExecute, where={"action": "read"})
    def read(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        yield from ()


def test_defaults_and_traits_that_are_tuples_are_announced_once() -> None:
    first = Runtime(components=[Reader])
    with first:
        pass
    with Runtime(components=[Reader], log=first.log) as runtime:
        found = list(runtime.client("me").read_stream("registry"))

    assert [record.topic for record in found] == ["component.announced"]


class Asker(Component):
    """A provider: what it announces stands in the configuration."""

    @classmethod
    def announces(cls, config: Config) -> tuple[Serves, ...]:
        return tuple(
            Serves("model", each.name, traits=msgspec.to_builtins(each))
            for each in describe(config.models)
            if each.provider == "asker"
        )

    @on(ModelInvoke, where={"provider": "asker"})
    def invoke(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Output]:
        yield from ()


def using(*names: str, window: int = 8_192) -> Config:
    use = tuple(
        ModelConfig(name=n, provider="asker", window=window, price_input=1.0, price_output=2.0)
        for n in names
    )
    return Config(models=ModelsConfig(use=use))


def starts(*configs: Config, beside: type[Component] = Reader) -> list[tuple[str, str]]:
    """What is recorded when a runtime starts with each of *configs*, one after the other."""
    last = Runtime(components=[Asker, beside], config=configs[0])
    with last:
        pass
    for config in configs[1:]:
        last = Runtime(components=[Asker, beside], config=config, log=last.log)
        with last:
            pass
    with Runtime(components=[beside], log=last.log) as runtime:
        told = [runtime.vocabulary.read(r) for r in runtime.client("me").read_stream("registry")]
    return [(event.topic_name(), event.name) for event in told]  # type: ignore[attr-defined]


def test_models_are_announced_as_they_are_configured_and_once() -> None:
    assert starts(using("small", "large"), using("small", "large")) == [
        ("component.announced", "small"),
        ("component.announced", "large"),
        ("component.announced", "read"),
    ]


def test_a_model_that_is_described_anew_is_announced_again() -> None:
    assert starts(using("small"), using("small", window=9_000))[2:] == [
        ("component.announced", "small")
    ]


def test_what_is_no_longer_configured_is_withdrawn_at_the_next_start() -> None:
    assert starts(using("small", "large"), using("large"))[3:] == [("component.withdrawn", "small")]


def test_what_another_component_announced_stays() -> None:
    started = Runtime(components=[Asker, Reader], config=using("small"))
    with started:
        pass
    with Runtime(components=[Asker], config=using(), log=started.log) as runtime:
        told = [runtime.vocabulary.read(r) for r in runtime.client("me").read_stream("registry")]

    withdrawn = [e.name for e in told if e.topic_name() == "component.withdrawn"]  # type: ignore[attr-defined]
    assert withdrawn == ["small"]
