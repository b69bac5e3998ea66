from runtime.knowledge.finding.embedders import *
