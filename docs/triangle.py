"""Draws ``docs/triangle.svg``: the tokens that one request holds, time by time.

``python docs/triangle.py`` writes it; a test compares the file with what this draws.  The picture
has a ground of its own and takes the reader's light or dark theme.
"""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).with_name("triangle.svg")
#: Prompt and output (tokens) and start (round) of the request that is drawn.
PROMPT, OUTPUT, START = 3, 4, 2
#: Side of a token, left and lower edge of the drawing (pixels), last time of the axis.
SIDE, LEFT, GROUND, LAST = 40, 70, 372, 8

_STYLE = """
  .ground { fill: #ffffff; }
  text { font: 15px system-ui, sans-serif; fill: #1f2430; }
  .small { font-size: 13px; }
  .prompt { fill: #3f51b5; stroke: #ffffff; }
  .output { fill: #ffb74d; stroke: #ffffff; }
  .inside { fill: #1f2430; font-size: 12px; }
  .axis { stroke: #1f2430; stroke-width: 1.4; fill: none; }
  .guide { stroke: #6b7280; stroke-dasharray: 4 4; fill: none; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #1e2129; }
    text { fill: #e6e8ee; }
    .prompt { fill: #8c9eff; stroke: #1e2129; }
    .output { fill: #ffb74d; stroke: #1e2129; }
    .inside { fill: #1e2129; }
    .axis { stroke: #e6e8ee; }
    .guide { stroke: #9aa3b2; }
  }
"""


def draw() -> str:
    """Return the picture as text."""
    completion = START + OUTPUT
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 470" role="img"',
        f'  aria-label="A request with prompt {PROMPT} and output {OUTPUT} that starts at round '
        f"{START} holds {PROMPT + 1} to {PROMPT + OUTPUT} tokens at times {START + 1} to "
        f'{completion}">',
        f"<style>{_STYLE}</style>",
        '<rect class="ground" width="640" height="470" rx="8"/>',
    ]
    for j in range(1, OUTPUT + 1):
        parts += _column(START + j, j)
    parts += _axes(completion)
    parts += [
        _guide(_x(completion) + SIDE / 2, _y(PROMPT + OUTPUT), 560),
        _text(566, _y(PROMPT + OUTPUT) + 5, "s + o"),
        _guide(_x(START + 1) - SIDE / 2, _y(PROMPT), 560),
        _text(566, _y(PROMPT) + 5, "s"),
        _text(LEFT + 8, 34, f"One request: s = {PROMPT}, o = {OUTPUT}, started at p = {START}"),
        *_key(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _column(time: int, made: int) -> list[str]:
    """Return the tokens held at a time when so many output tokens are made."""
    found = []
    for level in range(PROMPT + made):
        kind = "prompt" if level < PROMPT else "output"
        corner = f'x="{_x(time) - SIDE / 2:g}" y="{_y(level + 1):g}"'
        found.append(f'<rect class="{kind}" {corner} width="{SIDE}" height="{SIDE}"/>')
    found.append(_text(_x(time), _y(PROMPT + made) + 28, f"j = {made}", "inside", "middle"))
    return found


def _axes(completion: int) -> list[str]:
    told = {
        START: "p",
        START + 1: "p + 1",
        completion: "p + o",
        completion + 1: "p + o + 1",
    }
    below = {START: "starts", completion: "completes", completion + 1: "free"}
    found = [f'<path class="axis" d="M{LEFT} 60 V{GROUND} H610"/>']
    for time in range(LAST + 1):
        found.append(f'<path class="axis" d="M{_x(time)} {GROUND} v6"/>')
        found.append(_text(_x(time), GROUND + 24, str(time), "", "middle"))
        found.append(_text(_x(time), GROUND + 45, told.get(time, ""), "small", "middle"))
        found.append(_text(_x(time), GROUND + 63, below.get(time, ""), "small", "middle"))
    found.append(_text(LEFT + 8, 62, "tokens held", "small"))
    found.append(_text(612, GROUND + 5, "t", ""))
    return [each for each in found if "></text>" not in each]


def _key() -> list[str]:
    rows = (("prompt", f"{PROMPT} tokens of the prompt"), ("output", "output tokens made so far"))
    found = []
    for number, (kind, words) in enumerate(rows):
        top = 84 + 26 * number
        found.append(f'<rect class="{kind}" x="{LEFT + 10}" y="{top}" width="16" height="16"/>')
        found.append(_text(LEFT + 34, top + 13, words, "small"))
    return found


def _x(time: int) -> int:
    return LEFT + 26 + time * 60


def _y(level: int) -> int:
    return GROUND - level * SIDE


def _guide(left: float, height: float, right: float) -> str:
    return f'<path class="guide" d="M{left:g} {height:g} H{right:g}"/>'


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{words}</text>'


if __name__ == "__main__":
    FILE.write_text(draw(), encoding="utf-8")
