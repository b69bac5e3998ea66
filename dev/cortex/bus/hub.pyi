from bus.hub import *
