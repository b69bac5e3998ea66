from actors.accessors import *
