from runtime.erasure import *
