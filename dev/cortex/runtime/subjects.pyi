from runtime.subjects import *
