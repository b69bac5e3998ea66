from runtime.serving.doctor import *
