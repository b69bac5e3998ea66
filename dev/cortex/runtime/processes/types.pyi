from runtime.processes.types import *
