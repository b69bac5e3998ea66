from actors.providers.calls import *
