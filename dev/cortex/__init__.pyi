from facade import *
