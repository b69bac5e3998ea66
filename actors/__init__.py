"""The built-in components: managers, engines, accessors, providers, gates and handlers."""
