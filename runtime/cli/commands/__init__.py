"""One module a command or family of commands; each is imported when it is called."""
