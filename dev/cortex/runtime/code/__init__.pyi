from runtime.code import *
