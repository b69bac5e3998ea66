"""What comes with Cortex: managers, engines, accessors, providers, gates and handlers."""
