#include "launcher/tools/report/report_style.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kStyle = R"(
:root {
  color-scheme: light dark;
  --paper: #fff;
  --ink: #1b1f24;
  --soft: #5b6470;
  --line: #d8dde3;
  --card: #f5f7f9;
  --mark: #2866c4;
  --bad: #b42318;
  --compute: #3b7dd8;
  --moving: #ee8a3a;
  --waiting: #cf3a3a;
  --input: #6fa32b;
  --other: #9aa2ab;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181c;
    --ink: #e4e7eb;
    --soft: #9aa4b0;
    --line: #343b44;
    --card: #1d2127;
    --mark: #79aef5;
    --bad: #ff8f84;
    --compute: #4a87dc;
    --moving: #e08a45;
    --waiting: #db5555;
    --input: #7fb03d;
    --other: #7f8893;
  }
}
* {
  box-sizing: border-box;
}
body {
  margin: 0 auto;
  padding: 24px;
  max-width: 1240px;
  background: var(--paper);
  color: var(--ink);
  font: 15px/1.5 system-ui,sans-serif;
}
h1 {
  font-size: 24px;
  margin: 0;
}
h2 {
  font-size: 18px;
  margin: 32px 0 8px;
}
h3 {
  font-size: 16px;
  margin: 24px 0 8px;
}
p {
  margin: 4px 0;
}
code {
  overflow-wrap: anywhere;
  font-size: 13px;
}
.soft {
  color: var(--soft);
}
.bad {
  color: var(--bad);
  font-weight: 600;
}
ol.findings {
  padding: 0;
  margin: 8px 0;
  list-style: none;
  display: grid;
  gap: 8px;
}
.findings li {
  background: var(--card);
  border-left: 4px solid var(--mark);
  padding: 8px 14px;
}
.findings .what {
  font-weight: 600;
}
.tiles {
  display: flex;
  flex-wrap: wrap;
  gap: 8px;
  margin: 16px 0;
}
.tiles div {
  background: var(--card);
  padding: 8px 14px;
  flex: 1 1 90px;
}
.tiles b {
  display: block;
  font-size: 20px;
  font-weight: 600;
}
.tiles span {
  color: var(--soft);
  font-size: 13px;
}
svg {
  display: block;
  width: 100%;
  max-width: 860px;
  height: auto;
}
svg.bar {
  height: 26px;
}
svg text {
  fill: var(--soft);
  font-size: 12px;
}
.grid {
  stroke: var(--ink);
  stroke-opacity: .15;
  fill: none;
}
.hover {
  fill: transparent;
}
.hover:hover {
  fill: var(--ink);
  fill-opacity: .12;
}
.legend {
  list-style: none;
  display: flex;
  flex-wrap: wrap;
  gap: 4px 18px;
  padding: 0;
  margin: 8px 0;
  font-size: 13px;
}
.legend i {
  display: inline-block;
  width: 11px;
  height: 11px;
  margin-right: 6px;
}
.legend b {
  font-weight: 600;
}
.compute {
  fill: var(--compute);
  background: var(--compute);
}
.moving, .communication {
  fill: var(--moving);
  background: var(--moving);
}
.waiting {
  fill: var(--waiting);
  background: var(--waiting);
}
.input {
  fill: var(--input);
  background: var(--input);
}
.other {
  fill: var(--other);
  background: var(--other);
}
.wide {
  overflow-x: auto;
}
table {
  border-collapse: collapse;
  font-size: 13px;
  font-variant-numeric: tabular-nums;
}
th,td {
  text-align: left;
  padding: 4px 16px 4px 0;
  border-bottom: 1px solid var(--line);
  vertical-align: top;
}
th {
  color: var(--soft);
  font-weight: 500;
  white-space: nowrap;
}
.n {
  text-align: right;
  white-space: nowrap;
}
.pair {
  display: grid;
  grid-template-columns: repeat(auto-fit,minmax(min(480px,100%),1fr));
  gap: 0 40px;
}
.pair>section {
  min-width: 0;
}
.pair table {
  font-size: 12px;
}
.pair td, .pair th {
  padding-right: 9px;
}
)";

}  // namespace

std::string_view report_style() { return kStyle; }

}  // namespace paceline::launcher
