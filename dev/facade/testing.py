"""For tests of components: call one as a function, or run some on a clock of the test's own."""

from cortex.plugins import problems_of as problems_of
from cortex.runtime.testing import *
