from runtime.sessions.sources import *
