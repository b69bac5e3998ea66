"""Components that are one typed function: what the decorators make of it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .actions import action
    from .errors import EffectUnknownError, StepError
    from .gates import Verdict, gate
    from .making import Made, made_of
    from .observers import on
    from .parameters import converted
    from .path import Path
    from .signature import Signature, titled
    from .step import ActionStep, GateStep, Step, ToolStep
else:
    lazily(__name__)

__all__ = [
    "ActionStep",
    "EffectUnknownError",
    "GateStep",
    "Made",
    "Path",
    "Signature",
    "Step",
    "StepError",
    "ToolStep",
    "Verdict",
    "action",
    "converted",
    "gate",
    "made_of",
    "on",
    "titled",
]
