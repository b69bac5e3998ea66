from runtime.metrics import *
