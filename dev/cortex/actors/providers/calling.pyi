from actors.providers.calling import *
