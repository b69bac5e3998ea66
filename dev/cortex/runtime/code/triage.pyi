from runtime.code.triage import *
