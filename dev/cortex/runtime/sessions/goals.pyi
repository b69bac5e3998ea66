from runtime.sessions.goals import *
