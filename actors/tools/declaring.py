"""How a component says that it has a tool."""

import msgspec

from cortex.bus import Effect
from cortex.runtime.kernel import Serves


def tool(
    name: str,
    parameters: type[msgspec.Struct],
    *,
    provider: str,
    description: str,
    effect: Effect,
    pack: str = "",
) -> Serves:
    """What stands in a component's `serves` for a tool.

    Args:
        name: That a model calls; also of the method that `carry_out` calls.
        parameters: What it takes; the descriptions of its fields are for the model.
        provider: That the component handles `ToolCall` for.
        description: One line for the model.
        effect: On the world.
        pack: That it is shown with; unless set, the provider.
    """
    traits = {
        "provider": provider,
        "pack": pack or provider,
        "description": description,
    }
    return Serves("tool", name, parameters, traits=traits, effect=effect)
