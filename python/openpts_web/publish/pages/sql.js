// SQL over the tables of the library, answered in the browser.

const MOST_ROWS = 500;
const EXAMPLES = {
  "Runs by model and firmware": "SELECT model, firmware, count(*) AS runs\nFROM runs GROUP BY ALL ORDER BY ALL",
  "A measure by model": "SELECT model, key, unit, count(*) AS runs, avg(value) AS mean, min(value) AS least, max(value) AS most\nFROM measures JOIN runs USING (run)\nWHERE key = (SELECT min(key) FROM measures) AND NOT stands_in\nGROUP BY ALL ORDER BY ALL",
  "The least values of each measure": "SELECT test, key, arg_min(run, value) AS run, min(value) AS value, unit\nFROM measures JOIN runs USING (run)\nWHERE NOT stands_in GROUP BY test, key, unit ORDER BY ALL",
  "Runs of a label": "SELECT run, model, labels['lot'] AS lot\nFROM runs WHERE labels['lot'] IS NOT NULL",
  "Deviations by clause": "SELECT clause, count(DISTINCT run) AS runs\nFROM deviations GROUP BY ALL ORDER BY runs DESC",
  "Tables and their columns": "SELECT table_name, column_name, data_type\nFROM duckdb_columns() WHERE table_name IN ('runs', 'measures', 'deviations') ORDER BY table_name, column_index",
};

const resultTable = (columns, rows) => {
  const numbers = columns.map((_, place) => rows.some((row) => typeof row[place] === "number"));
  return [
    tableOf("Answer", columns.map((name, place) => column(name, numbers[place] ? { class: "right" } : {})),
      rows.slice(0, MOST_ROWS).map((row) => element("tr", {}, row.map((value, place) => element("td", numbers[place] ? { class: "right" } : {}, value === null ? "" : String(value))))), { class: "plain answer" }),
    rows.length > MOST_ROWS ? element("p", { class: "faint" }, `The first ${MOST_ROWS} of ${rows.length.toLocaleString("en")} rows; CSV has all.`) : null,
  ];
};

const sqlPage = async (state) => {
  const said = status();
  const place = element("div");
  let last = null;
  const text = element("textarea", { id: "sql", rows: "7", spellcheck: "false", "aria-label": "SQL", onkeydown: (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask();
  } });
  text.value = state.get("sql") ?? Object.values(EXAMPLES)[0];
  const csv = element("button", { disabled: true, onclick: () => download("answer.csv", csvOf(last.columns, last.rows)) }, "CSV");
  const ask = () => attempt(said, async () => {
    history.replaceState(null, "", `#/sql?${new URLSearchParams({ sql: text.value })}`);
    place.replaceChildren();
    csv.disabled = true;
    const begin = performance.now();
    await database.query("SELECT 1", said.say);
    const begun = performance.now();
    last = await database.query(text.value);
    const took = performance.now() - begun;
    csv.disabled = false;
    place.replaceChildren(...resultTable(last.columns, last.rows).filter(Boolean));
    const loading = begun - begin > 1000 ? `, after ${((begun - begin) / 1000).toFixed(1)} s of loading` : "";
    said.say(`${counted(last.rows.length, "row")} in ${Math.ceil(took)} ms${loading}`);
  });
  const examples = element("select", { id: "examples", onchange: () => { text.value = EXAMPLES[examples.value] ?? text.value; } },
    element("option", { value: "" }, "choose"), Object.keys(EXAMPLES).map((name) => element("option", { value: name }, name)));
  return [
    element("h1", {}, "SQL"),
    element("p", { class: "faint" }, "The tables runs, measures and deviations, as in the archive. DuckDB runs in this browser; nothing is sent anywhere."),
    element("form", { onsubmit: (event) => { event.preventDefault(); ask(); } },
      element("div", { class: "line" }, element("label", {}, element("span", {}, "Example"), examples)),
      text,
      element("div", { class: "line" }, element("button", { type: "submit", class: "button" }, "Ask (Ctrl+Enter)"), csv)),
    said.line,
    place,
  ];
};
