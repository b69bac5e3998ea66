from runtime.ctx.notation import *
