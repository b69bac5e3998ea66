from runtime.processes.executable import *
