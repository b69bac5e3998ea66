from runtime.ctx.sources import *
