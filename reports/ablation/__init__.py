"""The ablation: each strengthening on and off, on the same instances in one run."""
