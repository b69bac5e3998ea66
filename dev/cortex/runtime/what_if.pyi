from runtime.what_if import *
