from runtime.replay import *
