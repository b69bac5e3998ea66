from runtime.testing import *
