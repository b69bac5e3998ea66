from actors.engines import *
