from runtime.projections import *
