from runtime.context.layout import *
