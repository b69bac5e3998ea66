from runtime.processes import *
