from actors.library import *
