"""The machine: the log, the compilers and the kernel that runs components."""
