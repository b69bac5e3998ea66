from runtime.functions import *
