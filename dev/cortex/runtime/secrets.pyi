from runtime.secrets import *
