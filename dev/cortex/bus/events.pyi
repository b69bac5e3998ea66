from bus.events import *
