"""The state of an execution: the fold of its events, and queries on it."""
