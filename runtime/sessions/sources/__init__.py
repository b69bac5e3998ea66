"""The sources of a home: their files, their bindings, and their compilation in a session."""
