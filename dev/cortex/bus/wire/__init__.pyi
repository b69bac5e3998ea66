from bus.wire import *
