"""A client of a hub: publishes, reads, follows, takes work and asks."""
