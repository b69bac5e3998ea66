"""The events of Cortex, for subscriptions and answers; docs/events.md describes each."""

from cortex.bus.events import *
