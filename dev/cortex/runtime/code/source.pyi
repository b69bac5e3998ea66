from runtime.code.source import *
