from runtime.context.history import *
