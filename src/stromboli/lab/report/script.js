// Draw each picture again in the width of its place, with tooltips. Without scripts, the pictures stay as they are.
const { config, specifications } = JSON.parse(document.getElementById("pictures").textContent);
const views = new Map();

async function draw(figure) {
  const width = Math.floor(figure.clientWidth);
  const { width: before, result: old } = views.get(figure) ?? {};
  if (!width || width === before) return;
  views.set(figure, { width, result: old });
  const legend = { ...config.legend, columns: width < 500 ? 2 : 4 };
  const result = await vegaEmbed(figure, { ...specifications[figure.dataset.picture], width }, {
    // expressions are interpreted: a content security policy without 'unsafe-eval' allows that
    ast: true, renderer: "svg", actions: false, defaultStyle: false, config: { ...config, legend },
    tooltip: { disableDefaultStyle: true },
  });
  old?.finalize();
  views.set(figure, { width, result });
}

const figures = [...document.querySelectorAll("figure[data-picture]")];
const drawAll = async () => {
  for (const figure of figures) await draw(figure).catch((error) => console.error(error));
  document.documentElement.dataset.drawn = "true";
};
window.addEventListener("resize", lodashDebounce(drawAll, 200));
drawAll();
