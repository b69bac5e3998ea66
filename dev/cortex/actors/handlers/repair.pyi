from actors.handlers.repair import *
