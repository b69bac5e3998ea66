from runtime.access.trust import *
