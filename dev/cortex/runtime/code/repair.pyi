from runtime.code.repair import *
