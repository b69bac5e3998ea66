from runtime.isolation import *
