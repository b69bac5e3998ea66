from runtime.cli.adding import *
