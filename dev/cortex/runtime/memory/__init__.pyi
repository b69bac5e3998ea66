from runtime.memory import *
