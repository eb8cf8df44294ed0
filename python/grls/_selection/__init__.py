"""What is left to the data: γ, how free the features are, the parameters of the kernel."""
