from runtime.context.selection import *
