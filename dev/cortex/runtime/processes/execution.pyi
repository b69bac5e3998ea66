from runtime.processes.execution import *
