from runtime.processes.diagnostics import *
