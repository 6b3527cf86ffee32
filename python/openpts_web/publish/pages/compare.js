// Runs beside each other: conditions that differ first, then measures with their difference to the first run.

const differenceText = (value, first) => {
  if (typeof value !== "number" || typeof first !== "number" || first === 0) return "";
  const pct = ((value - first) / Math.abs(first)) * 100;
  return `${pct > 0 ? "+" : ""}${pct.toFixed(Math.abs(pct) < 10 ? 2 : 1)} %`;
};

const comparePage = async (names) => {
  const asked = names.length ? names : [...chosen];
  const runs = asked.map((name) => library.byName.get(name)).filter(Boolean);
  if (runs.length < 2) return [element("h1", {}, "Compare"), element("p", {}, "Choose two or more runs in the ", element("a", { href: "#/" }, "list"), " first.")];
  for (const run of runs) chosen.add(run.run);
  const facts = runs.map((run) => new Map(factsOf(run)));
  const labels = [...new Set(facts.flatMap((of) => [...of.keys()]))];
  const differs = (label) => new Set(facts.map((of) => of.get(label) ?? "")).size > 1;
  const heads = runs.map((run) => column(runLink(run)));
  const conditions = (shown) => tableOf("Conditions", [column("Condition"), ...heads.map((head) => head.cloneNode(true))],
    shown.map((label) => element("tr", {}, element("th", { scope: "row" }, label), facts.map((of) => element("td", {}, of.get(label) ?? "")))));
  const measures = await Promise.all(runs.map(measuresOf));
  const byKey = new Map();
  measures.forEach((rows, place) => rows.forEach((one) => {
    const key = JSON.stringify([runs[place].test, one.key, one.unit]);
    if (!byKey.has(key)) byKey.set(key, { label: one.label, key: one.key, test: runs[place].test, unit: one.unit, better: one.better, of: [] });
    byKey.get(key).of[place] = one;
  }));
  const cells = (one) => runs.map((_, place) => {
    const value = one.of[place];
    const both = place > 0 && value && one.of[0] && !value.stands_in && !one.of[0].stands_in;
    const note = value?.stands_in ? "a maximum in place of a percentile" : both ? differenceText(value.value, one.of[0].value) : "";
    return element("td", { class: "right" }, numberText(value?.value), note ? element("small", {}, note) : null);
  });
  const same = labels.filter((label) => !differs(label) && facts[0].get(label));
  const tests = new Set(runs.map((run) => run.test));
  return [
    element("h1", {}, `${runs.length} runs beside each other`),
    element("p", { class: "line" }, element("a", { class: "button", href: `#/compare/${runs.map((run) => encodeURIComponent(run.run)).join("/")}` }, "Address of this comparison"),
      element("button", { onclick: () => { chosen.clear(); showChosen(); location.hash = "#/"; } }, "Choose others")),
    element("h2", {}, "What differs in the conditions"),
    conditions(labels.filter(differs)),
    element("details", {}, element("summary", {}, `${same.length} conditions are the same`), conditions(same)),
    element("h2", {}, "Measures"),
    element("p", { class: "faint" }, "Differences are to the first run. Whether one is more than chance is a question for openpts compare, which knows each round."),
    tableOf("Measures", [column("Measure"), column("Unit"), column("Better"), ...heads],
      [...byKey.values()].map((one) => element("tr", {}, element("th", { scope: "row" }, tests.size > 1 ? `${one.test}: ${one.label}` : one.label, element("small", {}, one.key)),
        element("td", {}, one.unit ?? ""), element("td", {}, one.better ?? ""), cells(one)))),
  ];
};
