"""`python -m cortex.runtime.cli`, for whoever starts the command without its script."""

import sys

from .main import main

sys.exit(main())
