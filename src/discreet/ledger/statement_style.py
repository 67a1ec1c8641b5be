"""The look of a statement, in light and in dark."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5b6876; --line: #d9dfe6;
  --page: #ffffff; --bar: #e8edf3; --a: #1f5fa8; --b: #4a87cc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf1; --soft: #9aa7b5; --line: #334050;
  --page: #141a21; --bar: #27313d; --a: #6aa5e6; --b: #3f76b5; } }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.25rem 0 .6rem; }
.lead { max-width: 46rem; }
.note, footer { color: var(--soft); font-size: .875rem; }
figure { margin: .75rem 0 1.1rem; }
figcaption { display: flex; justify-content: space-between; gap: 1rem; margin-bottom: .35rem; }
svg { display: block; width: 100%; height: 34px; border-radius: 5px; }
.rest { fill: var(--bar); } .s0 { fill: var(--a); } .s1 { fill: var(--b); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .9rem .4rem 0;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
.slim table { width: auto; } .slim th, .slim td { padding-right: 2rem; }
.n { text-align: right; }
code { font-size: .8rem; overflow-wrap: anywhere; }
footer { margin-top: 2.5rem; border-top: 1px solid var(--line); }
@media print { body { background: #fff; } }
"""
