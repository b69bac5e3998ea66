from runtime.code.programs import *
