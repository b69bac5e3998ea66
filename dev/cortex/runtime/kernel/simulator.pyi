from runtime.kernel.simulator import *
