from runtime.tools import *
