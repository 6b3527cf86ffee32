// Draws the plots of a page from the block of data in it; without scripts a page has their words and tables.
"use strict";
(async () => {
  const block = document.getElementById("specs");
  if (!block || !window.vegaEmbed) return;
  const specs = JSON.parse(block.textContent);
  const themes = await (await fetch("/static/themes.json")).json();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const draw = async () => {
    const config = themes[dark.matches ? "dark" : "light"];
    for (const element of document.querySelectorAll("[data-plot]")) {
      const spec = specs[element.dataset.plot];
      if (!spec) continue;
      const place = document.createElement("div");
      place.setAttribute("aria-hidden", "true");  // what holds it has the words
      element.replaceChildren(place);
      // "ast": expressions are interpreted, as the page's policy lets no text become a program
      const view = await vegaEmbed(place, spec, { ast: true, actions: false, renderer: "svg", config, defaultStyle: false, tooltip: { disableDefaultStyle: true } });
      element.view = view.view;
      element.dataset.drawn = "yes";
    }
  };
  dark.addEventListener("change", draw);
  await draw();
})();
