from runtime.cli.running import *
