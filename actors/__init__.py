"""The staff: managers, engines, accessors, providers, gates and handlers."""
