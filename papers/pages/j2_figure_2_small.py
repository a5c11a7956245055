"""J2 figure 2 with eight requests a draw, whose optima take half a second."""

from papers.pages.j2_figure_2 import page

PAGE = page(
    "j2-figure-2-small",
    "J2 figure 2 with eight requests a draw",
    "n = 8; in model 2 uniform on 1..T, so that λ is 0.13 to 0.2",
    "Draws are smaller than the paper's, so `search` proves every optimum.  CP-SAT alone on its "
    "model shares neither code nor argument and proves the same optima wherever it ran.  Fewer "
    "requests leave less room for errors, and in model 2 they arrive more seldom than in the "
    "paper.",
    ("policies", "optimum"),
    "other settings",
)
