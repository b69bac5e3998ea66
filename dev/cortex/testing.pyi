from facade.testing import *
