from runtime.retrieval.embedders import *
