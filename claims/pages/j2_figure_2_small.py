"""J2 figure 2 with eight requests a draw, where an optimum takes half a second to prove."""

from claims.pages.j2_figure_2 import page

PAGE = page(
    "j2-figure-2-small",
    "J2 figure 2 with eight requests a draw",
    "paper-j2-fig2-small",
    "n = 8 (arrivals uniform on 1..T in model 2)",
    "Smaller than in the paper, so that optima are proved, of as many draws as the table says, and "
    "no interval is left for these; but with fewer requests less can go wrong.",
    ("policies", "optimum"),
    "other size",
)
