from plugins.scaffold import *
