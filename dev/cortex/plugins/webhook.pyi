from plugins.webhook import *
