from runtime.executions.state import *
