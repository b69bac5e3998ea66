from actors.managers import *
