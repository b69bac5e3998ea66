"""The compiler: from the sources of a home, by five stages, to the process table."""
