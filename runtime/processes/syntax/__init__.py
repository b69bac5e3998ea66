"""From YAML text to the syntax tree of the process language, with the place of each value."""
