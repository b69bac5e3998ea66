from runtime.retrieval import *
