"""The models of a home: configured, announced, or both."""

import msgspec

from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, announcement_of, built_in, load
from cortex.runtime.models import (
    ModelDescription,
    Price,
    describe,
    description_in,
    endpoint_of,
    that_choose,
)
from cortex.runtime.registry import MODEL, STREAM, Registry, evolve, registry_of
from cortex.runtime.secrets import is_set


class ModelRow(msgspec.Struct):
    """One model."""

    name: str
    provider: str
    model: str  # its name at the endpoint
    component: str  # the component that asks it; empty if there is none
    default: bool
    local: bool
    reasoning: str | None
    code: str | None
    speed: str | None
    window: int
    price: Price  # US dollars a million tokens
    key_env: str  # name of the variable with the key; empty if it needs none
    key_set: bool | None  # whether that variable is set; null if it needs none


def models_of(home: Home) -> list[ModelRow]:
    """The models that a runtime on *home* would have, by name; does not run the home's code.

    Announcements of the home's own components are read from the log.

    Raises:
        ConfigError: The home's config.toml is wrong.
        LogError: Its log cannot be read.
    """
    config = Config.shown(home)
    found = _found(home, config)
    return [_row(config, *found[name]) for name in sorted(found)]


def one_chooses(home: Home) -> bool:
    """Whether any of those models can choose actions towards a goal.

    Raises:
        ConfigError, LogError: As `models_of`.
    """
    return bool(that_choose(model for model, _ in _found(home, Config.shown(home)).values()))


def _found(home: Home, config: Config) -> dict[str, tuple[ModelDescription, str]]:
    """Models by name, with the component that announces them."""
    found = {each.name: (each, "") for each in describe(config.models)}
    for name, (description, component) in _announced(home, config).items():
        if name not in found or found[name][0].provider == description.provider:
            found[name] = (description, component)
    return found


def _announced(home: Home, config: Config) -> dict[str, tuple[ModelDescription, str]]:
    """Models by name, with the component that announces them."""
    shipped = [load(entry.component) for entry in built_in()]
    names = {component.component_name() for component in shipped}
    registry = _recorded(home).select(lambda each: each.announced.component not in names)
    for component in shipped:
        for serves in component.announces(config):
            registry = evolve(registry, announcement_of(component, serves))
    said = registry.of_kind(MODEL)
    described = ((each, description_in(each)) for each in said)
    return {each.name: (model, each.component) for each, model in described if model is not None}


def _recorded(home: Home) -> Registry:
    if not home.log_path.exists():
        return Registry()
    with History.open(home) as history:
        return registry_of(history.stream(STREAM), history.event)


def _row(config: Config, model: ModelDescription, component: str) -> ModelRow:
    used = next((each for each in config.models.use if each.name == model.name), None)
    key_env = endpoint_of(used).key_env if used else ""
    return ModelRow(
        name=model.name,
        provider=model.provider,
        model=model.model,
        component=component,
        default=model.name == config.models.default,
        local=model.local,
        reasoning=model.reasoning,
        code=model.code,
        speed=model.speed,
        window=model.window,
        price=model.price,
        key_env=key_env,
        key_set=is_set(key_env) if key_env else None,
    )
