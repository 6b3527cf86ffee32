"""The reports of tests beyond the specification."""
