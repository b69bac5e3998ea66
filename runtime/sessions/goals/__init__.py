"""Goals from a command line: the actions towards one, and the checks that it is reached."""
