from runtime.kernel.home import *
