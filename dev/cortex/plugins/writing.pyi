from plugins.writing import *
