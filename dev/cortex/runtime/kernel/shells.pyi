from runtime.kernel.shells import *
