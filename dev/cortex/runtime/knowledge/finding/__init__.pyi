from runtime.knowledge.finding import *
