"""The linked process, which runs: its records and expressions, and queries on them."""
