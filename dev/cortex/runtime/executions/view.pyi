from runtime.executions.view import *
