from actors.tools import *
