from bus.wire.server import *
