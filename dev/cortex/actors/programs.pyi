from actors.programs import *
