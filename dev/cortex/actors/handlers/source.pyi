from actors.handlers.source import *
