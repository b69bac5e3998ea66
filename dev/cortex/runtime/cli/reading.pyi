from runtime.cli.reading import *
