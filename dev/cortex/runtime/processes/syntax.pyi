from runtime.processes.syntax import *
