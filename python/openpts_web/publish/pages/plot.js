// A measure over time, firmware or drive, drawn by Vega-Lite; beside it the same as a table.

const OVER = { started_at: "Date", firmware: "Firmware", model: "Model", serial: "Drive", host: "Host" };
const vega = once(loadScript);
const dark = matchMedia("(prefers-color-scheme: dark)");

const plotSpec = (rows, measure, unit, over, by, color) => ({
  width: "container", height: 360, autosize: { type: "fit", contains: "padding" },
  data: { values: rows },
  mark: { type: "point", filled: true, size: 40, opacity: 0.75, color },
  encoding: {
    x: over === "started_at" ? { field: "started_at", type: "temporal", title: "Date" } : { field: over, type: "nominal", title: OVER[over], axis: { labelAngle: -40 } },
    y: { field: "value", type: "quantitative", title: unit ? `${measure} (${unit})` : measure, scale: { zero: false } },
    ...(by ? { color: { field: by, type: "nominal" }, shape: { field: by, type: "nominal" } } : {}),
    tooltip: ["run", "model", "firmware", "serial", "started_at", "value"].map((field) => ({ field, type: "nominal" })),
  },
});

const plotPage = async (state) => {
  const said = status();
  said.later(async () => {
    const names = await measureWords(said.say);
    const measure = names.includes(state.get("measure")) ? state.get("measure") : names[0];
    if (!measure) return [element("p", {}, "No run has a measure.")];
    const over = state.get("over") in OVER ? state.get("over") : "started_at";
    const by = state.get("by") in OVER ? state.get("by") : "";
    const change = (name) => (value) => { state.set(name, value); history.replaceState(null, "", `#/plot?${state}`); show().then(() => document.getElementById(name)?.focus()); };
    const pick = (name, label, values, value) => chooser(name, label, values, value, change(name));
    const { columns, rows } = await valuesOf(measure, said.say);
    const values = rows.map((row) => Object.fromEntries(columns.map((name, place) => [name, row[place]])));
    const drawing = element("div");  // Vega gives it a name and a role of its own
    const named = element("div", { class: "plot", role: "img", "aria-label": `${measure} of ${counted(rows.length, "run")} over ${OVER[over].toLowerCase()}; the table below has the values` }, drawing);
    const config = index.config[dark.matches ? "dark" : "light"];
    await vega("pages/vega.js");
    setTimeout(() => vegaEmbed(drawing, plotSpec(values, measure, values[0]?.unit, over, by, config.range.category[6]), {
      ast: true, actions: false, renderer: "canvas", defaultStyle: false, tooltip: { disableDefaultStyle: true }, config,
    }).catch((error) => said.say(error.message)));
    return [
      element("form", { class: "filters", onsubmit: (event) => event.preventDefault() },
        pick("measure", "Measure", names.map((name) => [name, name]), measure),
        pick("over", "Over", Object.entries(OVER), over),
        pick("by", "Color", [["", "one"], ...Object.entries(OVER).slice(1)], by)),
      named,
      element("details", {}, element("summary", {}, counted(rows.length, "value")), resultTable(columns, rows)),
    ];
  });
  return [element("h1", {}, "Plot"), said.line, said.place];
};
