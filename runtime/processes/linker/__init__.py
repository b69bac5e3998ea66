"""The linker: binds each name of a resolved process to its target."""
