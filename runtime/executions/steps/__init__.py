"""The steps of an execution: the next one, its turns, items and goal, and its requests."""
