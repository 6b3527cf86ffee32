// ---- tables: sort, colors by value, rows that point at their series, long ones on demand

const tableOf = async (element) => (await model()).tables.get(element.dataset.name);
const original = new WeakMap();  // the place of each row in the model

const cellOf = (table, row, column) => (column ? table.rows[row].cells[column - 1] : table.rows[row].head);

// Numbers by value, then words in order; sort is stable, so equal ones stay as they were.
const compare = (a, b) => {
  if (a.value != null && b.value != null) return a.value - b.value;
  if (a.value != null || b.value != null) return a.value != null ? -1 : 1;
  return a.text.localeCompare(b.text, "en", { numeric: true });
};

const sort = async (element, head, column) => {
  const table = await tableOf(element);
  const next = { ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")] || "ascending";
  element.querySelectorAll("[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
  const rows = [...element.tBodies[0].rows].sort((a, b) => original.get(a) - original.get(b));
  if (next !== "none") {
    head.setAttribute("aria-sort", next);
    const sign = next === "ascending" ? 1 : -1;
    rows.sort((a, b) => sign * compare(cellOf(table, original.get(a), column), cellOf(table, original.get(b), column)));
  }
  element.tBodies[0].append(...rows);
};

// A matrix is colored as a whole, other tables column by column, for columns may have units of their own.
const heatOf = (table) => {
  const columns = table.columns.map((_, n) => n);
  const sets = table.group ? [columns] : columns.map((column) => [column]);
  const shades = new Map();
  for (const set of sets) {
    const cells = table.rows.flatMap((row, r) => set.map((column) => [`${r} ${column}`, row.cells[column].value]))
      .filter(([, value]) => value != null);
    const values = cells.map(([, value]) => value);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    if (values.length < 3 || low === high) continue;
    const log = low > 0 && high / low > 10;
    for (const [place_, value] of cells) shades.set(place_, shareOf(value, [low, high], log));
  }
  return shades;
};

const heat = async (element, button) => {
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(on));
  const shades = heatOf(await tableOf(element));
  for (const row of element.tBodies[0].rows)
    [...row.cells].slice(1).forEach((cell, column) => {
      const shade = shades.get(`${original.get(row)} ${column}`);
      cell.classList.toggle("heat", on && shade !== undefined);
      if (shade !== undefined) cell.style.setProperty("--shade", `${Math.round(shade * 100)}%`);
    });
};

// ---- rows point at series: of lines that are rows, or at the place of x where lines are columns
const pointAtSeries = (element, cell) => {
  const [row, column] = [original.get(cell.parentElement), cell.cellIndex - 1];
  for (const figure of document.querySelectorAll(`figure[data-table="${CSS.escape(element.dataset.name)}"][data-live]`)) {
    const { plot } = figure;
    if (plot?.figure.kind !== "lines" || !plot.axes) continue;
    const by = plot.figure.series[0]?.by;
    const line = by === "row" ? row : column;
    const number = plot.figure.series.findIndex((series) => series.lines[0] === line);
    markSeries(figure, number < 0 ? "" : `s${number}`);
    const head = by === "row" ? plot.table.columns[column] : plot.table.rows[row]?.head;
    const x = head?.value == null ? null : place(head.value, plot.figure.x);
    if (x !== null && stopsOf(plot).includes(x)) showCursor(plot, x); else leaveCursor(plot);
  }
};

const markSeries = (figure, name) => {
  if (name) figure.dataset.marked = name; else delete figure.dataset.marked;
  for (const group of figure.querySelectorAll("[data-series]")) group.classList.toggle("dim", Boolean(name) && group.dataset.series !== name);
};

document.addEventListener("pointerover", (event) => {
  const cell = event.target.closest?.(".table > table > tbody td, .table > table > tbody th");
  if (cell) pointAtSeries(cell.closest("table"), cell);
});
document.addEventListener("pointerout", (event) => {
  const element = event.target.closest?.(".table > table");
  if (!element || element.contains(event.relatedTarget)) return;
  for (const figure of document.querySelectorAll("figure[data-marked], figure[data-live]"))
    if (figure.dataset.table === element.dataset.name && figure.plot) { markSeries(figure, ""); leaveCursor(figure.plot); }
});

// ---- building and equipping
const buttonOf = (text, label, act, pressed) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.setAttribute("aria-label", label);
  if (pressed !== undefined) button.setAttribute("aria-pressed", String(pressed));
  button.addEventListener("click", () => act(button));
  return button;
};

const equip = (element) => {
  const title = element.caption.textContent.trim();
  [...element.tBodies[0].rows].forEach((row, n) => original.set(row, n));
  const tools = document.createElement("span");
  tools.className = "tabletools";
  if (element.dataset.heat) tools.append(buttonOf("Colors", `Color cells by value: ${title}`, (button) => heat(element, button), false));
  tools.append(buttonOf("CSV", `Save as CSV: ${title}`, async () => saveTable(await tableOf(element))));
  element.caption.append(tools);
  if (element.tBodies[0].rows.length < 3) return;
  element.querySelectorAll(".heads th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = head.textContent.trim();
    button.addEventListener("click", () => sort(element, head, column));
    head.replaceChildren(button);
  });
};

const make = (tag, text, attributes = {}) => {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

const build = (table) => {
  const element = document.createElement("table");
  element.dataset.name = table.id;
  element.createCaption().textContent = table.title;
  const heads = element.createTHead().insertRow();
  heads.className = "heads";
  for (const column of [table.head, ...table.columns])
    heads.append(make("th", column.label, { scope: "col", class: column.align ?? "right" }));
  const body = element.createTBody();
  for (const row of table.rows) {
    const line = body.insertRow();
    line.append(make("th", row.head.text, { scope: "row", class: table.head.align ?? "right" }));
    row.cells.forEach((cell, n) => {
      line.append(make("td", cell.text, { class: `${table.columns[n].align ?? ""} ${cell.tone ?? ""}`.trim() }));
    });
  }
  return element;
};

const fill = async (details) => {
  if (details.dataset.filled) return;
  details.dataset.filled = "yes";
  const table = await tableOf(details);
  const box = make("div", "", { class: "table scrolled", tabindex: "0", role: "region", "aria-label": table.title });
  box.append(build(table));
  details.querySelector(".elsewhere").replaceWith(box);
  equip(box.firstChild);
};

document.querySelectorAll("details.long[data-name]").forEach((details) =>
  details.addEventListener("toggle", () => { if (details.open) fill(details); }));
