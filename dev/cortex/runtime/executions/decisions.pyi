from runtime.executions.decisions import *
