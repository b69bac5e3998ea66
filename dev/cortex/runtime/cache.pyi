from runtime.cache import *
