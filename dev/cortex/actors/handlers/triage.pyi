from actors.handlers.triage import *
