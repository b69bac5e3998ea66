from bus import *
