from runtime.context.prefix import *
