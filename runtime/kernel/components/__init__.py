"""What a component is: handlers, effects, announcements, and the manifest that names it."""
