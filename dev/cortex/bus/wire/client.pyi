from bus.wire.client import *
