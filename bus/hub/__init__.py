"""The hub: a state machine that turns requests into transactions of the log."""
