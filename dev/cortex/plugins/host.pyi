from plugins.host import *
