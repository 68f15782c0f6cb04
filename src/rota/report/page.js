// A button of a legend shows and hides its lines in every figure of its section.
for (const legend of document.querySelectorAll(".legend")) {
  const figures = legend.closest("section").querySelectorAll(".plotly-graph-div");
  for (const button of legend.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      const visible = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", visible);
      for (const figure of figures) {
        const own = figure.data.flatMap((trace, k) => (trace.legendgroup === button.dataset.name ? [k] : []));
        if (own.length) Plotly.restyle(figure, { visible }, own);
      }
    });
  }
}

// Where fingers scroll, a figure must not take the movement for a zoom.
if (matchMedia("(pointer: coarse)").matches) {
  for (const figure of document.querySelectorAll(".plotly-graph-div")) Plotly.relayout(figure, { dragmode: false });
}
