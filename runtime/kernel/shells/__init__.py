"""What feeds a host: the actor, its loop of fetch, handle and commit, and its supervision."""
