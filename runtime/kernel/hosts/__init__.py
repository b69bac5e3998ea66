"""Where handlers run: in this thread, on an event loop, or in a child process."""
