from runtime.registry import *
