// ---- page: theme, contents, files to save, buttons of plots

root.classList.add("js");

// The system's theme until the reader chooses; remembered where storage is allowed.
const stored = {
  get() { try { return localStorage.getItem("openpts-theme"); } catch { return null; } },
  set(name) { try { localStorage.setItem("openpts-theme", name); } catch { /* not allowed: not remembered */ } },
};
const system = matchMedia("(prefers-color-scheme: dark)");
const theme = () => root.dataset.theme || (system.matches ? "dark" : "light");

const choose = (name) => {
  if (name === "light" || name === "dark") root.dataset.theme = name; else delete root.dataset.theme;
  document.querySelectorAll("[data-theme-choice]").forEach((button) =>
    button.setAttribute("aria-pressed", String(button.dataset.themeChoice === (root.dataset.theme ?? "system"))));
};

choose(stored.get());
document.querySelectorAll("[data-theme-choice]").forEach((button) => button.addEventListener("click", () => {
  choose(button.dataset.themeChoice);
  stored.set(button.dataset.themeChoice);
  redrawAll();
}));
system.addEventListener("change", redrawAll);

// ---- contents: a narrow window starts with the report; the list follows the reader
const narrow = matchMedia("(max-width: 900px)");
const contents = document.querySelector("nav > details");
const follow = () => { contents.open = !narrow.matches; };
follow();
narrow.addEventListener("change", follow);

const entries = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const passing = new Set();
const reader = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) if (isIntersecting) passing.add(target); else passing.delete(target);
  const [first] = [...passing].sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  if (!first) return;
  document.querySelectorAll("nav [aria-current]").forEach((link) => link.removeAttribute("aria-current"));
  const link = entries.get(first.id);
  if (!link) return;
  link.setAttribute("aria-current", "true");
  const own = link.closest("nav li details");
  document.querySelectorAll("nav li details").forEach((details) => { details.open = details === own; });
  const list = contents.getBoundingClientRect();
  const place_ = link.getBoundingClientRect();
  if (place_.top < list.top || place_.bottom > list.bottom) contents.scrollTop += place_.top - list.top - list.height / 3;
}, { rootMargin: "-110px 0px -60% 0px" });
document.querySelectorAll("section.page").forEach((page) => reader.observe(page));

// ---- files
const fileName = (stem, id, ending) => `${stem === "report" ? "" : `${stem}_`}${id}.${ending}`.replace(/[^\w.+-]+/g, "-");

const save = (name, content, type) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

// A text that a spreadsheet would take for a formula gets an apostrophe; numbers stay numbers.
const field = (text) => {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const csvCell = (cell) => (cell.value == null ? field(cell.text) : String(cell.value));

// The same lines as the files of the data folder have: remarks, heads, rows, notes in columns of their own.
const csvOf = ({ report, redLines }, table, thinned) => {
  const noted = table.columns.map((_, n) => table.rows.some((row) => row.cells[n].note));
  const remarks = [...redLines, report.run_name, `${table.title} [${table.id}]`, table.group, table.note,
    thinned ? `Thinned: ${table.rows.length} means, least and largest of ${thinned.rows} rows` : ""];
  const heads = table.columns.flatMap(({ label }, n) => [field(label), ...(noted[n] ? [field(`${label}: note`)] : [])]);
  const rows = table.rows.map((row) => [csvCell(row.head),
    ...row.cells.flatMap((cell, n) => [csvCell(cell), ...(noted[n] ? [field(cell.note ?? "")] : [])])].join(","));
  return [...remarks.filter(Boolean).map((line) => `# ${line.replaceAll(/\s+/g, " ")}`),
    [field(table.head.label), ...heads].join(","), ...rows, ""].join("\n");
};

const saveTable = async (table) => {
  const [whole, { thinned }] = await Promise.all([model(), plots()]);
  save(fileName(whole.report.stem, table.id, "csv"), csvOf(whole, table, thinned[table.id]), "text/csv");
};

document.querySelector("[data-do=json]").addEventListener("click", async () => {
  const { report } = await model();
  const { thinned } = await plots();
  const name = Object.keys(thinned).length ? "report-thinned" : "report";
  save(fileName(report.stem, name, "json"), await modelText(), "application/json");
});

// A saved drawing stands alone: the theme's colors are written into it, and its title and the report's name are added.
const wrapped = (text, width) => {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1).length + word.length > width) lines.push("");
    lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines;
};

const standalone = async (element) => {
  const { report, redLines, figures } = await model();
  const figure = figures.get(element.id);
  const svg = (element.querySelector(".live svg") ?? element.querySelector(".static svg")).cloneNode(true);
  const [, , width, height] = svg.getAttribute("viewBox").split(/[ ,]+/).map(Number);
  const letters = Math.floor(width / 6.4);
  const above = redLines.flatMap((line) => wrapped(line, letters));
  const below = [...wrapped(`${figure.number} - ${figure.title}`, letters), ...wrapped(`${report.run_name} | ${report.footer}`, letters)];
  const outer = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const total = height + 16 * (above.length + below.length) + 20;
  Object.entries({ width, height: total, viewBox: `0 0 ${width} ${total}`, "font-size": 11, "font-family": "Inter, Noto Sans, Helvetica, Arial, sans-serif" })
    .forEach(([name, value]) => outer.setAttribute(name, value));
  const add = (tag, attributes, text = "") => {
    const child = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => child.setAttribute(name, value));
    child.textContent = text;
    outer.append(child);
  };
  add("title", {}, figure.alt);
  add("rect", { width: "100%", height: "100%", fill: "var(--surface)" });
  let y = 4;
  const write = (line, color, weight) => add("text", { x: width / 2, y: (y += 16), "text-anchor": "middle", "font-size": 11, "font-weight": weight, fill: color }, line);
  above.forEach((line) => write(line, "var(--alert)", "bold"));
  for (const [name, value] of [["x", 0], ["y", y + 6], ["width", width], ["height", height]]) svg.setAttribute(name, value);
  svg.removeAttribute("style");
  outer.append(svg);
  y += height + 4;
  below.forEach((line, n) => write(line, n ? "var(--muted)" : "var(--ink)", n ? "normal" : "bold"));
  const colors = getComputedStyle(root);
  const text = new XMLSerializer().serializeToString(outer).replace(/var\((--[\w-]+)\)/g, (_, name) => colors.getPropertyValue(name).trim());
  return { text, width, height: total, name: (ending) => fileName(report.stem, element.id, ending) };
};

const painted = async ({ text, width, height }) => {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * width, 2 * height];
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
};

// ---- buttons of plots
const press = (button, on) => button.setAttribute("aria-pressed", String(on));
const toggle = (set, name) => (set.delete(name) ? false : Boolean(set.add(name)));

const actions = {
  async reset(element) {
    const state = stateOf(element);
    Object.assign(state, { other: false });
    state.hidden.clear();
    state.units.clear();
    element.querySelectorAll(".tools [aria-pressed]").forEach((button) => press(button, button.matches(".series")));
    await zoomTo(await plotOf(element), null);
  },
  async scale(element, button) {
    press(button, (stateOf(element).other = !stateOf(element).other));
    await draw(element);
  },
  async unit(element, button) {
    press(button, toggle(stateOf(element).units, button.dataset.unit));
    await draw(element);
  },
  async series(element, button) {
    press(button, !toggle(stateOf(element).hidden, button.dataset.key));
    await draw(element);
  },
  async csv(element) { await saveTable((await model()).tables.get(element.dataset.table)); },
  async svg(element) {
    const drawing = await standalone(element);
    save(drawing.name("svg"), drawing.text, "image/svg+xml");
  },
  async png(element) {
    const drawing = await standalone(element);
    save(drawing.name("png"), await painted(drawing));
  },
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("figure .tools button");
  if (button) actions[button.dataset.do](button.closest("figure"), button);
});

// ---- start
if ("DecompressionStream" in window) {
  root.classList.add("unpacks");
  document.querySelectorAll(".table > table").forEach(equip);
  if (document.getElementById("vega").textContent) document.querySelectorAll("figure").forEach((figure) => near.observe(figure));
  let resized;
  addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(redrawAll, 150); });
} else {
  document.getElementById("static-only").hidden = false;
}
root.dataset.ready = "yes";
