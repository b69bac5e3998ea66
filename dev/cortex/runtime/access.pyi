from runtime.access import *
