from runtime.ctx import *
