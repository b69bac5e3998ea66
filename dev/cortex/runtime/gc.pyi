from runtime.gc import *
