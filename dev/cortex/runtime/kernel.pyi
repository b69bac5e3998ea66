from runtime.kernel import *
