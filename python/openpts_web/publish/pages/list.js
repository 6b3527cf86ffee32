// The list of runs: what the address says of words, fields and order decides which are shown.

const FILTERS = ["test", "model", "firmware", "state"];

const compared = (name, down) => (one, other) => {
  const [first, second] = [one[name], other[name]];
  if (first === second) return 0;
  if (first === null || first === undefined) return 1;
  if (second === null || second === undefined) return -1;
  return (first < second ? -1 : 1) * (down ? -1 : 1);
};

const shownRuns = (state) => {
  const words = (state.get("words") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = FILTERS.filter((name) => state.has(name));
  const found = library.runs.filter((run) =>
    wanted.every((name) => (run[name] ?? "") === state.get(name)) && words.every((word) => run.words.includes(word)));
  const order = state.get("order");
  if (!order) return found;
  const name = order.replace("-", "");
  return found.sort(compared(name === "measure" ? "chosenValue" : name, order.startsWith("-")));
};

// `values` are pairs of what is chosen and how it is called.
const chooser = (name, label, values, value, change) => {
  const select = element("select", { id: name, onchange: () => change(select.value) },
    values.map(([key, text]) => element("option", { value: key, selected: key === (value ?? "") }, text)));
  return element("label", {}, element("span", {}, label), select);
};

const countsOf = (name) => {
  const counts = new Map();
  for (const run of library.runs) if (run[name] !== null) counts.set(run[name], (counts.get(run[name]) ?? 0) + 1);
  return [["", "any"], ...[...counts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([text, count]) => [text, `${text} (${count.toLocaleString("en")})`])];
};

const measureWords = async (said) => (await database.query(
  "SELECT test || '.' || key FROM all_measures AS of JOIN all_runs USING (run) GROUP BY test, key ORDER BY test, min(of.rowid)", said)).rows.map(([name]) => name);

// Values of a measure: a maximum that stands in for a percentile is none of it.
const valuesOf = once((measure, said) => database.query(
  `SELECT run, value, unit, started_at, model, firmware, serial, host FROM measures JOIN runs USING (run)
  WHERE test || '.' || key = '${measure.replaceAll("'", "''").replaceAll("\0", "' || chr(0) || '")}' AND NOT stands_in AND value IS NOT NULL ORDER BY started_at, run`, said));

const row = (run, measure) => {
  const box = element("input", { type: "checkbox", "aria-label": `Compare ${run.run}`, onchange: () => {
    chosen[box.checked ? "add" : "delete"](run.run);
    showChosen();
  } });
  box.checked = chosen.has(run.run);
  const cells = Object.entries(index.columns).slice(1).map(([name, label]) => element("td", { "data-name": label }, cellText(name, run[name])));
  return element("tr", {}, element("td", {}, box),
    element("th", { scope: "row" }, runLink(run), run.mark ? element("small", {}, run.mark) : null),
    cells, measure ? element("td", { class: "right", "data-name": measure }, numberText(run.chosenValue)) : null);
};

const runLink = (run) => element("a", { href: `#/run/${encodeURIComponent(run.run)}` }, run.run);

const heading = (name, label, state, attributes = {}) => {
  const order = state.get("order") ?? "-started_at";
  const sorted = order.replace("-", "") === name;
  const next = sorted && !order.startsWith("-") ? `-${name}` : name;
  const button = element("button", { class: "sort", onclick: () => changed(state, { order: next }, `sort-${name}`), id: `sort-${name}` }, label);
  return column(button, { "aria-sort": sorted ? (order.startsWith("-") ? "descending" : "ascending") : "none", ...attributes });
};

// The address has what was chosen, so that it can be passed on; the field in use keeps the focus.
const changed = (state, changes, focus) => {
  for (const [name, value] of Object.entries(changes)) if (value) state.set(name, value); else state.delete(name);
  history.replaceState(null, "", `#/?${state}`);
  show().then(() => document.getElementById(focus)?.focus());
};

const listPage = async (state) => {
  const said = status();
  const measure = state.get("measure");
  if (measure) {
    const values = new Map((await valuesOf(measure, said.say)).rows);
    for (const run of library.runs) run.chosenValue = values.get(run.run);
  }
  const found = shownRuns(state);
  const body = element("tbody");
  let end = 0;
  const more = element("button", { onclick: () => extend() }, `Show ${index.shown} more`);
  const extend = () => {
    body.append(...found.slice(end, end + index.shown).map((run) => row(run, measure)));
    end += index.shown;
    more.hidden = end >= found.length;
  };
  extend();
  const words = element("input", { id: "words", type: "search", value: state.get("words") ?? "", autocomplete: "off",
    oninput: () => { clearTimeout(words.waits); words.waits = setTimeout(() => {
      const place = words.selectionStart;
      changed(state, { words: words.value }, "words");
      setTimeout(() => document.getElementById("words")?.setSelectionRange?.(place, place));
    }, 150); } });
  const measures = element("button", { onclick: async () => {
    const names = await measureWords(said.say);
    measures.replaceWith(chooser("measure", "Measure", [["", "none"], ...names.map((name) => [name, name])], measure, (value) => changed(state, { measure: value, order: value ? "-measure" : "" }, "measure")));
    document.getElementById("measure").focus();
  } }, "Measure ...");
  const all = found.length === library.runs.length;
  return [
    element("h1", {}, `${all ? "" : `${found.length.toLocaleString("en")} of `}${counted(library.runs.length, "run")}`),
    element("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      element("label", {}, element("span", {}, "Words"), words),
      FILTERS.map((name) => chooser(name, name[0].toUpperCase() + name.slice(1), countsOf(name), state.get(name), (value) => changed(state, { [name]: value }, name))),
      measure ? chooser("measure", "Measure", [["", "none"], [measure, measure]], measure, (value) => changed(state, { measure: value, order: "" }, "words")) : measures,
      element("button", { onclick: () => download("runs.csv", csvOf(Object.keys(index.columns), found.map((run) => Object.keys(index.columns).map((name) => run[name])))) }, "CSV")),
    said.line,
    element("div", { class: "scroll", role: "region", "aria-label": "Runs", tabindex: "0" },
      element("table", { class: "runs" }, element("thead", {}, element("tr", {}, column(element("span", { class: "unseen" }, "Compare")),
        Object.entries(index.columns).map(([name, label]) => heading(name, label, state)),
        measure ? heading("measure", measure, state, { class: "right" }) : null)), body)),
    found.length ? null : element("p", {}, "No run has all of that."),
    more,
  ];
};
