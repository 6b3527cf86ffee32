// Interaction over a report that is complete without it: plots come alive through Vega, tables sort
// and save, the theme switches. Reads only what stands in this file.
(() => {
  "use strict";
  const root = document.documentElement;
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const views = new Map();
  root.classList.add("js");

  // A narrow window starts with the report, not with its contents.
  if (matchMedia("(max-width: 900px)").matches) document.querySelector("nav details").open = false;

  // ---- theme: the system's until the reader chooses; remembered where storage is allowed
  const stored = { get() { try { return localStorage.getItem("openpts-theme"); } catch { return null; } },
    set(name) { try { localStorage.setItem("openpts-theme", name); } catch { /* not allowed: not remembered */ } } };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (system.matches ? "dark" : "light");
  const chosen = stored.get();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    stored.set(root.dataset.theme);
    redraw();
  });
  system.addEventListener("change", () => redraw());

  // ---- plots
  const clone = (value) => JSON.parse(JSON.stringify(value));

  // The other y scale lets Vega choose its own domain and ticks: ours fit the first one only.
  const withOtherScale = (spec) => {
    for (const layer of spec.layer) {
      const y = layer.encoding?.y;
      if (!y?.scale) continue;
      y.scale = y.scale.type === "log" ? { type: "linear", zero: true } : { type: "log" };
      if (y.axis) { delete y.axis.values; delete y.axis.labelExpr; }
    }
    return spec;
  };

  async function draw(figure) {
    const drawing = figure.querySelector(".drawing");
    const live = figure.querySelector(".live");
    if (!plots.specs[figure.id] || !drawing || !window.vegaEmbed) return;
    const spec = clone(plots.specs[figure.id]);
    if (figure.dataset.scale === "other") withOtherScale(spec);
    live.hidden = false;
    spec.width = Math.min(1000, Math.max(720, drawing.clientWidth));  // labels are kept apart for 720
    views.get(figure)?.finalize();
    const result = await vegaEmbed(live, spec, { actions: false, renderer: "svg", config: plots.config[theme()] });
    views.set(figure, result);
    figure.querySelector(".static").hidden = true;
    hide(figure);
  }

  const redraw = () => [...views.keys()].forEach(draw);

  const hide = (figure) => {
    const off = [...figure.querySelectorAll(".series[aria-pressed=false]")].map((button) => button.dataset.key);
    const view = views.get(figure)?.view;
    if (view && figure.querySelector(".series")) view.signal("hidden", off).runAsync();
  };

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "400px" });
  document.querySelectorAll("figure").forEach((figure) => near.observe(figure));

  let resized;
  addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(redraw, 150); });

  const save = (name, text, type) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // A saved drawing stands alone, so the theme's colours are written into it.
  const standalone = (svg) => {
    const colors = getComputedStyle(root);
    const head = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
    return svg.outerHTML.replace(/<svg(?: xmlns(?::\w+)?="[^"]*")*/, head)
      .replace(/var\((--[\w-]+)\)/g, (_, name) => colors.getPropertyValue(name).trim());
  };

  const actions = {
    reset(figure) {
      figure.querySelectorAll(".series").forEach((button) => button.setAttribute("aria-pressed", "true"));
      figure.querySelector("[data-do=scale]")?.setAttribute("aria-pressed", "false");
      delete figure.dataset.scale;
      draw(figure);
    },
    scale(figure, button) {
      const other = figure.dataset.scale !== "other";
      if (other) figure.dataset.scale = "other"; else delete figure.dataset.scale;
      button.setAttribute("aria-pressed", String(other));
      draw(figure);
    },
    svg(figure) {
      const svg = figure.querySelector(".live svg") || figure.querySelector(".static svg");
      if (svg) save(`${figure.id}.svg`, standalone(svg), "image/svg+xml");
    },
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("figure button");
    if (!button) return;
    const figure = button.closest("figure");
    if (button.dataset.do) { actions[button.dataset.do](figure, button); return; }
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    hide(figure);
  });

  // ---- keyboard: arrow keys step along x and read the values out, Escape leaves
  // One decimal from 10 on, else three significant digits; per cents of many nines keep them.
  const rounded = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 9 });
  const brief = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
  const reading = (value) => {
    if (value > 99 && value < 100) return exact.format(value);
    return (Math.abs(value) >= 10 ? rounded : brief).format(value);
  };

  const readout = (figure, step) => {
    const { datasets, usermeta } = plots.specs[figure.id];
    const points = datasets[usermeta.points];
    const places = [...new Set(points.map((row) => row.x))].sort((a, b) => a - b);
    const from = figure.dataset.at === undefined ? (step > 0 ? -1 : places.length) : Number(figure.dataset.at);
    const next = Math.min(places.length - 1, Math.max(0, from + step));
    figure.dataset.at = next;
    const x = places[next];
    const [place, ...series] = usermeta.tooltip;
    const here = points.filter((row) => row.x === x);
    const values = series.map(({ field, title }) => {
      const row = here.find((item) => item.key === field);
      return row ? `${title} ${reading(row.y)}` : null;
    });
    const at = reading(here[0][place.field]);
    figure.querySelector(".readout").textContent = `${place.title} ${at}: ${values.filter(Boolean).join("; ")}`;
    const mark = [{ fields: [{ type: "E", field: "x" }], values: [x] }];
    views.get(figure)?.view.data("cursor_store", mark).runAsync();
  };

  document.addEventListener("keydown", (event) => {
    const drawing = event.target.closest?.(".drawing");
    if (!drawing) return;
    const figure = drawing.closest("figure");
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { event.preventDefault(); readout(figure, step); }
    if (event.key === "Escape") {
      delete figure.dataset.at;
      figure.querySelector(".readout").textContent = "";
      views.get(figure)?.view.data("cursor_store", []).runAsync();
    }
  });

  // ---- tables: sort by a column (up, down, as it was) and save as CSV with full precision
  const content = (cell) => cell.dataset.value ?? cell.childNodes[0]?.textContent.trim() ?? "";

  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    const numeric = a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y);
    return numeric ? x - y : a.localeCompare(b, "en");
  };

  const sort = (table, head, index) => {
    const body = table.tBodies[0];
    table.original ??= [...body.rows];
    const next = { ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")] || "ascending";
    table.querySelectorAll("[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    const rows = [...table.original];
    if (next !== "none") {
      head.setAttribute("aria-sort", next);
      const sign = next === "ascending" ? 1 : -1;
      rows.sort((a, b) => sign * compare(content(a.cells[index]), content(b.cells[index])));
    }
    body.append(...rows);
  };

  // A text that a spreadsheet would take for a formula gets an apostrophe; numbers stay numbers.
  const field = (text, isNumber) => {
    const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };

  const redLine = () => (document.body.dataset.redLine ? [field(document.body.dataset.redLine, false)] : []);

  const csv = (table) => {
    const head = [...table.querySelectorAll(".heads th")].map((cell) => field(cell.textContent.trim(), false));
    const rows = [...table.tBodies[0].rows].map((row) =>
      [...row.cells].map((cell) => field(content(cell), "value" in cell.dataset)).join(","));
    return [...redLine(), `${field(table.caption.firstChild.textContent.trim(), false)}`, head.join(","), ...rows].join("\r\n") + "\r\n";
  };

  const saver = (title, name, text) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "CSV";
    button.setAttribute("aria-label", `Save as CSV: ${title}`);
    button.addEventListener("click", () => save(`${name}.csv`, text(), "text/csv"));
    return button;
  };

  // Tables of thousands of values stand in the page as comma-separated text.
  document.querySelectorAll("details.long > pre").forEach((list) => {
    const text = () => [...redLine(), field(list.dataset.title, false), list.textContent.trim()]
      .join("\n").replaceAll("\n", "\r\n") + "\r\n";
    list.before(saver(list.dataset.title, list.id, text));
  });

  document.querySelectorAll(".table > table").forEach((table) => {
    table.caption.append(" ", saver(table.caption.textContent, table.dataset.name, () => csv(table)));
    if (table.tBodies[0].rows.length < 3) return;
    table.querySelectorAll(".heads th").forEach((head, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.textContent = head.textContent.trim();
      button.addEventListener("click", () => sort(table, head, index));
      head.replaceChildren(button);
    });
  });
  root.dataset.ready = "yes";
})();
