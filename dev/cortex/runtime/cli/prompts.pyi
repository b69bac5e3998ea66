from runtime.cli.prompts import *
