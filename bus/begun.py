"""Topics with which a component reports that an effect begins, or that its outcome is unknown."""

from .events.effect import EffectIntended, EffectUnknown
from .events.step import StepExecute
from .events.tool import ToolCall

ASKS = frozenset((StepExecute.topic_name(), ToolCall.topic_name()))  # what has effects
BEGINNINGS = frozenset((EffectIntended.topic_name(), EffectUnknown.topic_name()))
INTENDED = EffectIntended.topic_name()  # of a client, only where it is synced, and so looked at
