from runtime.knowledge import *
