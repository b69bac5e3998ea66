from runtime.cli.terminal import *
