"""The hub's side of a wire: who connects, what they may keep, and the answers they wait for."""
