from runtime.context.prompt_log import *
