"""What estimators share: checked data, targets and labels, the model function, progress."""
