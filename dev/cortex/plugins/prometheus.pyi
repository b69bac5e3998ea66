from plugins.prometheus import *
