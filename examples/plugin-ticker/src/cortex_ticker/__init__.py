"""The plugin ticker: what it is made of, and everything that it asks for."""

import cortex

PLUGIN = cortex.Manifest(
    name="ticker",
    version="1.0.0",
    cortex=">=0.1,<0.2",
    summary="Counts down, looks at the clock, repeats, and keeps a tally.",
    components=(
        "cortex_ticker.actions:count_down",
        "cortex_ticker.gates:even_minute",
        "cortex_ticker.models:ticker",
        "cortex_ticker.observers:Tally",
    ),
    subscribes=(
        "step.execute=count_down",
        "gate.evaluate=even_minute",
        "model.invoke=ticker",
        "execution.completed",
        "execution.failed",
    ),
    publishes=(
        "step.completed",
        "step.failed",
        "gate.evaluated",
        "model.responded",
        "model.failed",
        "x.ticker.tallied",
    ),
    limits=cortex.Limits(events_per_s=500),
)
