// One run: what it is of, its measures, its deviations, its report.

const FIELDS = [...Object.keys(index.tables.runs).filter((name) => name !== "run" && name !== "labels")];

const fieldText = (run, name) => (run[name] === null || run[name] === undefined ? "" : typeof run[name] === "boolean" ? (run[name] ? "yes" : "no") : String(run[name]));
const spoken = (name) => name.replaceAll("_", " ");

const factsOf = (run) => [...FIELDS.map((name) => [spoken(name), fieldText(run, name)]), ...labelsOf(run).map(([name, value]) => [`label ${name}`, value ?? ""])];

const runPage = async ([name]) => {
  const run = library.byName.get(name);
  if (!run) return [element("h1", {}, "No such run"), element("p", {}, `This library has no run ${name}.`)];
  const [measures, deviations] = await Promise.all([measuresOf(run), deviationsOf(run)]);
  const choose = element("button", { onclick: () => { chosen.add(run.run); showChosen(); location.hash = "#/compare"; } }, "Compare with others");
  return [
    element("h1", {}, run.run),
    run.mark ? element("p", { class: "mark" }, run.mark) : null,
    element("p", { class: "line" }, run.report ? element("a", { class: "button", href: run.report }, "Report") : null, choose),
    element("h2", {}, "Conditions"),
    element("dl", { class: "facts" }, factsOf(run).filter(([, text]) => text !== "").map(([label, text]) => element("div", {}, element("dt", {}, label), element("dd", {}, text)))),
    element("h2", {}, "Measures"),
    tableOf("Measures", [column("Measure"), column("Value", { class: "right" }), column("Unit"), column("Better"), column("Note")],
      measures.map((one) => element("tr", {}, element("th", { scope: "row" }, one.label, element("small", {}, one.key)),
        element("td", { class: "right" }, numberText(one.value)), element("td", {}, one.unit ?? ""), element("td", {}, one.better ?? ""),
        element("td", {}, [one.stands_in ? "a maximum in place of a percentile" : "", one.note ?? ""].filter(Boolean).join("; "))))),
    element("h2", {}, "Deviations"),
    deviations.length
      ? tableOf("Deviations", ["Clause", "Required", "Used", "Effect"].map((label) => column(label)),
        deviations.map((one) => element("tr", {}, element("th", { scope: "row" }, one.clause ?? one.rule_id), ["required", "used", "effect"].map((field) => element("td", {}, one[field] ?? "")))))
      : element("p", {}, "None."),
  ];
};
