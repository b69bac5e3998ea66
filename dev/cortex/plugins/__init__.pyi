from plugins import *
