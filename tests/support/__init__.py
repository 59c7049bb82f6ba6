"""Code that the tests in Python share. See README.md."""
