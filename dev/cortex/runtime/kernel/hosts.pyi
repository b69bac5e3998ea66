from runtime.kernel.hosts import *
