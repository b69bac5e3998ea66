from runtime.context import *
