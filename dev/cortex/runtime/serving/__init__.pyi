from runtime.serving import *
