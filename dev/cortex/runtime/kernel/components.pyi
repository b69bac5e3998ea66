from runtime.kernel.components import *
