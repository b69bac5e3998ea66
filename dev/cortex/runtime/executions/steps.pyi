from runtime.executions.steps import *
