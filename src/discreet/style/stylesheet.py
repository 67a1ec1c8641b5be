"""The stylesheet of every page: light and dark, phone and paper."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.style.colours import DARK, LIGHT


def _variables(colours: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


STYLESHEET = (
    f"""
:root {{ color-scheme: light dark; {_variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}
@media print {{ :root {{ color-scheme: light; {_variables(LIGHT)} }} }}
"""
    + """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; }
body > * { max-width: 58rem; margin: 0 auto; padding: 0 1.25rem; }
a { color: var(--link); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 0; top: 0; padding: .5rem 1rem; background: var(--page); }
header { padding-top: 2.5rem; }
.kind { margin: 0 0 .4rem; color: var(--soft); font-size: .8rem; font-weight: 600;
  letter-spacing: .08em; text-transform: uppercase; }
h1 { margin: 0 0 .6rem; font-size: 1.9rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 0 0 .7rem; padding-top: 1.1rem; border-top: 1px solid var(--line);
  font-size: 1.25rem; line-height: 1.3; }
h3 { margin: 1.6rem 0 .5rem; font-size: 1rem; }
section section { margin-top: 0; }
section { margin-top: 2rem; }
p, ul, ol, dl { margin: 0 0 .8rem; }
p, li { max-width: 46rem; overflow-wrap: break-word; }
li { margin-bottom: .35rem; }
ul, ol { padding-left: 1.25rem; }
.lead { font-size: 1.1rem; }
.note, figcaption, footer { color: var(--soft); font-size: .875rem; }
nav { margin-top: 1.25rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: 0; padding: 0;
  list-style: none; font-size: .875rem; }
nav li { margin: 0; }
.warning { margin: 1.25rem 0 0; padding: .8rem 1rem; border: 2px solid var(--open);
  border-left-width: .6rem; border-radius: .35rem; }
.warning p:last-child { margin: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .6rem;
  margin: 1.25rem 0 0; }
.tiles div { padding: .7rem .9rem; background: var(--panel); border: 1px solid var(--line);
  border-radius: .4rem; }
.tiles dt { color: var(--soft); font-size: .8rem; }
.tiles dd { margin: 0; font-size: 1.3rem; font-weight: 600; line-height: 1.3;
  overflow-wrap: anywhere; }
.tiles dd small { display: block; color: var(--soft); font-size: .8rem; font-weight: 400; }
.facts { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .3rem 1.5rem; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0 1.4rem; }
figcaption { max-width: 46rem; }
figcaption.row { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem;
  max-width: none; margin-bottom: .35rem; color: var(--ink); font-size: 1rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr));
  gap: 0 2rem; align-items: start; }
svg { display: block; width: 100%; height: auto; }
svg.chart { max-width: 33rem; }
svg.bar { height: 34px; border-radius: 5px; }
svg text { fill: var(--ink); font-family: inherit; font-size: 13px; }
svg .soft, svg .tick { fill: var(--soft); } svg .tick { font-size: 12px; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .bound { fill: none; stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 2 4; }
svg .curve { fill: none; stroke: var(--first); stroke-width: 2.5; stroke-linejoin: round; }
svg .second { fill: none; stroke: var(--other); stroke-width: 2; stroke-dasharray: 7 4; }
svg .area { fill: var(--first); opacity: .14; }
svg .span { stroke: var(--first); stroke-width: 2; }
svg .dot { fill: var(--first); stroke: var(--page); stroke-width: 1; }
svg .name { fill: var(--first); font-weight: 600; }
svg .rest { fill: var(--rest); } svg .s0 { fill: var(--first); } svg .s1 { fill: var(--second); }
.wide { overflow-x: auto; margin: 0 0 .8rem;
  /* A shade at an edge tells that the table goes on there; it is covered at its ends. */
  background: linear-gradient(to right, var(--page) 1rem, transparent) local 0 0 / 2.5rem 100%,
    linear-gradient(to left, var(--page) 1rem, transparent) local 100% 0 / 2.5rem 100%,
    linear-gradient(to right, var(--rest), transparent) 0 0 / 1rem 100%,
    linear-gradient(to left, var(--rest), transparent) 100% 0 / 1rem 100%;
  background-repeat: no-repeat; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { padding: .42rem 1rem .42rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 600; }
td { font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
.slim table { width: auto; } .slim th, .slim td { padding-right: 2rem; }
.n { text-align: right; } td.n { white-space: nowrap; }
.state { font-weight: 600; white-space: nowrap; }
.met { color: var(--met); } .open { color: var(--open); } .yours { color: var(--link); }
code { font: .85em/1.4 ui-monospace, 'SF Mono', Consolas, monospace; overflow-wrap: anywhere; }
footer { margin-top: 2.5rem; padding-bottom: 3rem; }
footer p { padding-top: 1rem; border-top: 1px solid var(--line); max-width: none; }
@media (max-width: 34rem) {
  h1 { font-size: 1.5rem; } header { padding-top: 1.5rem; }
  .facts { grid-template-columns: 1fr; gap: 0; } .facts dd { margin-bottom: .5rem; }
  .stack thead { position: absolute; left: -100vw; }
  .stack tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .stack td, .stack th { display: block; padding: 0 0 .15rem; border: 0; text-align: left; }
}
@page { margin: 18mm 16mm; }
@media print {
  body { font-size: 10pt; } body > * { max-width: none; padding: 0; }
  header { padding-top: 0; } nav, .skip { display: none; }
  h1, h2, h3 { break-after: avoid; } figure, tr, .tiles, .warning { break-inside: avoid; }
  .wide { overflow: visible; background: none; } td { overflow-wrap: anywhere; }
  tr:has(.state) td:first-child { overflow-wrap: normal; }
  svg.chart { max-width: 11cm; } a { color: inherit; }
  svg .rest, svg .s0, svg .s1, .tiles div { -webkit-print-color-adjust: exact;
    print-color-adjust: exact; }
}
"""
)
"""Goes into the head of a page; nothing is fetched."""
