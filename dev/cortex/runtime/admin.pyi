from runtime.admin import *
