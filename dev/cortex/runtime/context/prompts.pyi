from runtime.context.prompts import *
