from runtime.processes.catalog import *
