from runtime.processes.compiler import *
