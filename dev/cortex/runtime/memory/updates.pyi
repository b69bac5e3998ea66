from runtime.memory.updates import *
