// Figures are drawn when they come into sight, the others one after the other: a long page can be read at once.
const { template, config } = JSON.parse(document.getElementById("common").textContent);
const figures = [...document.querySelectorAll(".plotly-graph-div")];
const waiting = new Set(figures);
const dragmode = matchMedia("(pointer: coarse)").matches ? false : "zoom"; // where fingers scroll, no zoom by dragging

// What follows from other numbers is not in the page twice: bands around lines, and what tiles are called.
function unpack(trace) {
  const { meta, x, legendgroup } = trace;
  if (meta?.columns) trace.customdata = meta.rows.map((row) => meta.columns.map((column) => `${row}: ${column}`));
  if (!meta?.low) return [trace];
  const { low, high, runs, fill } = meta;
  trace.customdata = low.map((value, k) => [value, high[k], runs[k] ?? runs]);
  const around = { x: [...x, ...[...x].reverse()], y: [...high, ...[...low].reverse()], mode: "lines", line: { width: 0 } };
  return [{ ...around, fill: "toself", fillcolor: fill, hoverinfo: "skip", legendgroup }, trace];
}

function draw(figure) {
  if (!waiting.delete(figure)) return;
  const { data, layout } = JSON.parse(figure.nextElementSibling.textContent);
  const traces = data.flatMap(unpack).sort((a, b) => Boolean(b.fillcolor) - Boolean(a.fillcolor)); // bands below
  Plotly.newPlot(figure, traces, { dragmode, ...layout, template }, config);
}

function drawNext() {
  const [figure] = waiting;
  if (!figure) return;
  draw(figure);
  setTimeout(drawNext);
}

const sight = new IntersectionObserver(
  (places) => places.filter((place) => place.isIntersecting).forEach((place) => draw(place.target)),
  { rootMargin: "200px" },
);
figures.forEach((figure) => sight.observe(figure));
requestAnimationFrame(() => setTimeout(drawNext));

// A button of a legend shows and hides its lines in every figure of its section.
for (const legend of document.querySelectorAll(".legend")) {
  const own = figures.filter((figure) => legend.parentElement.contains(figure));
  for (const button of legend.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      const visible = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", visible);
      for (const figure of own) {
        draw(figure);
        const lines = figure.data.flatMap((trace, k) => (trace.legendgroup === button.dataset.name ? [k] : []));
        if (lines.length) Plotly.restyle(figure, { visible }, lines);
      }
    });
  }
}

// Paper is narrower than most screens and cannot be scrolled: figures are drawn anew, what is still too wide shrinks.
function fit() {
  document.documentElement.classList.add("paper");
  figures.forEach(draw);
  for (const figure of figures) Plotly.relayout(figure, { width: figure.clientWidth });
  for (const wide of document.querySelectorAll(".scroll")) {
    wide.style.zoom = Math.min(1, wide.clientWidth / wide.scrollWidth);
  }
}

function unfit() {
  document.documentElement.classList.remove("paper");
  for (const wide of document.querySelectorAll(".scroll")) wide.style.zoom = "";
  for (const figure of figures) Plotly.relayout(figure, { width: null, autosize: true });
}

addEventListener("beforeprint", fit);
addEventListener("afterprint", unfit);
