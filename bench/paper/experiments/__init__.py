"""One module per figure or table; a module whose name starts with an underscore is shared by some."""
