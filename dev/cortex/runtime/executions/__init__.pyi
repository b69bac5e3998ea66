from runtime.executions import *
