"""Many runs: what one of them is, how it is carried out, and what is written down of it."""
