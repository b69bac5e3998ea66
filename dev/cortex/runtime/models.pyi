from runtime.models import *
