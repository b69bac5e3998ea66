from runtime.processes.linker import *
