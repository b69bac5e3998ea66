"""The notation of data in a package: scalars, lines, blocks and tables, written and read."""
