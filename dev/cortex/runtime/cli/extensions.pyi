from runtime.cli.extensions import *
