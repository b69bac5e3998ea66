from actors.gates import *
