from runtime.ctx.legend import *
