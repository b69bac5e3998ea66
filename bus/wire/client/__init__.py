"""The client's side of a wire: connections to a hub in another process."""
