"""What several engines need: the model built, its size, how far a tolerance is believed."""
