from runtime.retrieval.store import *
