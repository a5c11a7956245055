"""J2 figure 2 with eight requests a draw, where an optimum takes half a second to prove."""

from papers.pages.j2_figure_2 import page

PAGE = page(
    "j2-figure-2-small",
    "J2 figure 2 with eight requests a draw",
    "n = 8; in model 2 uniform on 1..T, so that λ is 0.13 to 0.2",
    "Smaller than in the paper, so that `search` proves every optimum.  CP-SAT alone on its "
    "model, which shares neither code nor argument, has the same wherever it was run.  With fewer "
    "requests less can go wrong, and in model 2 they come more seldom than in any draw of the "
    "paper.",
    ("policies", "optimum"),
    "other settings",
)
