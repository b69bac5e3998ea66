from facade.events import *
