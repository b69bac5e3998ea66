from runtime.diff import *
