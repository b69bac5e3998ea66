"""For tests of components: call one as a function, or run some on a clock of the test's own."""

from cortex.runtime.testing import *
