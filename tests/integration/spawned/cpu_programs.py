"""A gate and a handler that run programs, in processes of their own; imported as a plugin's are."""

from cortex.actors.gates import Command
from cortex.actors.handlers import Shell


class SpawnedCommand(Command):
    """The same gate."""

    cpu = True


class SpawnedShell(Shell):
    """The same handler."""

    cpu = True
