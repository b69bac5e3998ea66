"""The decisions of an execution about its events, its children, and requests of people."""
