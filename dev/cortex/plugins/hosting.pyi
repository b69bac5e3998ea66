from plugins.hosting import *
