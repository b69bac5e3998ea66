from runtime.cli.prompting import *
