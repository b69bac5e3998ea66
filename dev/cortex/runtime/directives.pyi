from runtime.directives import *
