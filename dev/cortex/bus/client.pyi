from bus.client import *
