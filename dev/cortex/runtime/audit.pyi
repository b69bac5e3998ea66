from runtime.audit import *
