"""Names that want to break out of tables, pages and folders."""

from kvopt.runs.row_columns import Record
from tests.reports.synthetic import digest, record

#: Each sets ``window.pwned`` or closes something if it is taken for markup.
NAMES = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "</script><script>window.pwned=1</script>",
    "</td></table><svg onload=window.pwned=1>",
    '" onmouseover="window.pwned=1" x="',
    "' autofocus onfocus='window.pwned=1",
    "javascript:window.pwned=1",
    "{{ 7 * 7 }}{% raw %}",
    "a | b || c \\| d \\",
    "`code` ``two`` ``` three",
    "[link](https://example.invalid) ![i](x) <b>bold</b> *em* _em_ ~~no~~",
    "../../../etc/passwd",
    "..",
    ".",
    "/absolute/path",
    "C:\\windows\\system32",
    "con",
    "index",
    "a,b;c\"d'e",
    "=HYPERLINK(1)",
    "$x^2$ \\frac",
    "&lt;b&gt; &amp; &#x3c;",
    "--><script>window.pwned=1</script><!--",
    "]]><script>window.pwned=1</script>",
    "name with trailing space ",
    "UPPER",
    "upper",
    "ünïcödé 名前 \N{ZERO WIDTH SPACE}x",
    "right\N{RIGHT-TO-LEFT OVERRIDE}left",
    "line\nbreak\ttab\x00nul\x1besc",
    "www.example.invalid @user #1 :tada:",
    "x" * 400,
)


def hostile_records(*methods: str) -> list[Record]:
    """Return runs of methods and of one of each name, on an instance and family of that name."""
    texts = "instance family section detail found_by bound_source cpu platform python git_commit"
    return [
        record(
            **dict.fromkeys((*texts.split(), "finished_utc"), name),
            instance_sha256=digest(str(k)),
            method=method,
            versions={name: name},
            tel=100 + k,
            lower_bound=100 + k if k % 2 else 500,
            status="refused" if k % 5 == 0 else "feasible",
        )
        for k, name in enumerate(NAMES)
        for method in (*methods, name)
    ]
