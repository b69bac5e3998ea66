from plugins.cli import *
