from runtime.ctx.prose import *
