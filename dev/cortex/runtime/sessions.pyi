from runtime.sessions import *
