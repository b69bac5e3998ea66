from runtime.cli import *
