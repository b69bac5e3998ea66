from actors.providers import *
