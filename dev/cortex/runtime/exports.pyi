from runtime.exports import *
