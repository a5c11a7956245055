"""The commands that serve who serves: ``kvopt`` lists them."""
