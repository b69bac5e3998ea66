from runtime.log import *
