from actors.providers.extractive import *
