"""What the command line says of requirements."""
