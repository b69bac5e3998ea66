from actors.handlers import *
