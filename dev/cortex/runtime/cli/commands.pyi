from runtime.cli.commands import *
