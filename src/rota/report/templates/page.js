// Figures are drawn when they come into sight, the others one after the other: a long page can be read at once.
const { template, config, reload } = JSON.parse(document.getElementById("common").textContent);
const figures = [...document.querySelectorAll(".plotly-graph-div")];
const waiting = new Set(figures);
const dragmode = matchMedia("(pointer: coarse)").matches ? false : "zoom"; // where fingers scroll, no zoom by dragging

// What follows from other numbers is not in the page twice: bands around lines.
function unpack(trace) {
  const { meta, x, legendgroup } = trace;
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

// A box above a long table leaves the rows whose heading has in it what one writes.
for (const box of document.querySelectorAll(".filter")) {
  const rows = [...box.nextElementSibling.querySelectorAll("tbody tr")];
  box.hidden = false;
  box.addEventListener("input", () => {
    const wanted = box.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  });
}

// What is wider than its place fades out on the side where there is more.
const wide = [...document.querySelectorAll(".scroll")];
const fade = (own) => own.classList.toggle("more", own.scrollLeft + own.clientWidth < own.scrollWidth - 2);
const widths = new ResizeObserver((places) => places.forEach((place) => fade(place.target)));
for (const own of wide) {
  own.addEventListener("scroll", () => fade(own), { passive: true });
  widths.observe(own);
}

// Paper is narrower than most screens and cannot be scrolled: figures are drawn anew, what is still too wide shrinks.
function fit() {
  document.documentElement.classList.add("paper");
  figures.forEach(draw);
  for (const figure of figures) Plotly.relayout(figure, { width: figure.clientWidth });
  for (const own of wide) own.style.zoom = Math.min(1, own.clientWidth / own.scrollWidth);
}

function unfit() {
  document.documentElement.classList.remove("paper");
  for (const own of wide) own.style.zoom = "";
  for (const figure of figures) Plotly.relayout(figure, { width: null, autosize: true });
}

addEventListener("beforeprint", fit);
addEventListener("afterprint", unfit);

// While a run is watched, its page is written again and again. Nobody who is looking for a task is interrupted.
if (reload) {
  setInterval(() => {
    const busy = document.hidden || [...document.querySelectorAll(".filter")].some((box) => box.value);
    if (!busy) location.reload();
  }, 1000 * reload);
}
