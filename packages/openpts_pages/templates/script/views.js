// ---- views: what the reader chose of each plot, and the drawing of it by Vega

const views = new Map();  // live plots by their figure elements
const states = new Map();
const zooms = new Map();  // ranges of x, which the figures of a group share
const CLOSE_LABELS_PX = 14;
const LEAST_SPAN = 0.05;  // of the level: the noise of a flat line must not fill the plot

const stateOf = (element) => {
  if (!states.has(element)) states.set(element, { hidden: new Set(), other: false, units: new Set() });
  return states.get(element);
};
const groupOf = (figure) => figure.zoom_group || figure.id;
const ends = (axis) => axis.domain.map((end) => place(end, axis));

// The other unit of an axis, if the reader wants it: its name in the title, and the factor to it.
const OTHER_UNITS = {
  time: (title) => (title.includes("(ms)") ? { title: title.replace("(ms)", "(us)"), factor: 1000 } : null),
  rate: (title, bytes) => {
    if (title === "IOPS") return { title: "Throughput (MB/s)", factor: bytes / 1e6 };
    return title.includes("(MB/s)") ? { title: "IOPS", factor: 1e6 / bytes } : null;
  },
};

const unitOf = (axis, figure, units) => {
  for (const name of units) {
    const other = OTHER_UNITS[name](axis.title, figure.transfer_bytes);
    if (other) return other;
  }
  return { title: axis.title, factor: 1 };
};

const isShown = (series, number, state) => !state.hidden.has(`s${number}`);

// The range of y that holds all that is to be seen, with a little air.
const extent = (plot, span, log) => {
  let [low, high] = [Infinity, -Infinity];
  plot.figure.series.forEach((series, number) => {
    if (series.second_axis || !isShown(series, number, plot.state)) return;
    for (const point of plot.points[number]) {
      if (point.x < span[0] || point.x > span[1] || (log && point.low <= 0)) continue;
      low = Math.min(low, point.low);
      high = Math.max(high, point.high);
    }
  });
  if (!Number.isFinite(low)) return null;
  if (log) {
    const air = Math.max((high / low) ** 0.06, 1.05);
    return [low / air, high * air];
  }
  const missing = (LEAST_SPAN * Math.max(Math.abs(low), Math.abs(high)) - (high - low)) / 2;
  const air = Math.max((high - low) * 0.06, missing) || 1;
  return [low >= 0 ? Math.max(0, low - air) : low - air, high + air];
};

// How the axes look in the reader's state.
const axesOf = (plot) => {
  const { figure, state } = plot;
  const zoom = zooms.get(groupOf(figure));
  const x = { span: zoom ?? ends(figure.x), log: figure.x.scale === "log", zoomed: Boolean(zoom), ...unitOf(figure.x, figure, state.units) };
  const log = (figure.y.scale === "log") !== state.other;
  const bars = figure.series.some((series) => series.style === "bars");
  const fits = (zoom && !bars && extent(plot, x.span, log)) || (state.other && extent(plot, x.span, log));
  const y = { span: fits || ends(figure.y), log, zoomed: Boolean(fits), ...unitOf(figure.y, figure, state.units) };
  if (state.other && !log && !zoom && y.span[0] > 0) y.span[0] = 0;
  return { x, y };
};

const leaves = (layers) => layers.flatMap((layer) => (layer.layer ? leaves(layer.layer) : [layer]));

const applyAxis = (layers, channel, view, axis) => {
  if (!view.zoomed && view.factor === 1) return;
  let values = roundTicks(view.span.map((end) => end * view.factor), view.log).map((tick) => tick / view.factor);
  const named = axis.ticks.filter((tick) => place(tick, axis) >= view.span[0] && place(tick, axis) <= view.span[1]);
  const keepsNames = axis.labels?.length && named.length > 1;
  for (const layer of layers) {
    const position = layer.encoding?.[channel];
    if (!position?.scale) continue;
    position.title = view.title;
    position.scale = { type: view.log ? "log" : "linear", domain: view.span, nice: false };
    if (keepsNames) continue;
    const labelExpr = axis.scale === "nines" ? "format(100 * (1 - pow(10, -datum.value)), '.8~f')"
      : `format(datum.value * ${view.factor}, ',~r')`;
    position.axis = { ...position.axis, values, labelExpr };
  }
};

// Labels at the ends of lines: each where its line now ends, none over another.
const moveEndLabels = (plot, layers, { x, y }, height) => {
  const rows = layers.filter((layer) => layer.encoding?.x?.value === "width" && layer.data?.values)
    .flatMap((layer) => layer.data.values);
  const goal = (row) => {
    if (!row.key) return row.y;
    const seen = plot.points[Number(row.key.slice(1))].filter((point) => point.x >= x.span[0] && point.x <= x.span[1]);
    return seen.at(-1)?.y;
  };
  const labels = new Map();  // text and marker of a label move together
  for (const row of rows) {
    const share = shareOf(goal(row) ?? NaN, y.span, y.log);
    const name = `${row.key} ${row.text}`;
    if (!labels.has(name)) labels.set(name, { share, rows: [] });
    labels.get(name).rows.push(row);
  }
  const gap = CLOSE_LABELS_PX / height;
  const placed = [...labels.values()].filter(({ share }) => share >= -0.001 && share <= 1.001).sort((a, b) => a.share - b.share);
  placed.forEach((label, n) => { if (n) label.share = Math.max(label.share, placed[n - 1].share + gap); });
  let room = 1;
  for (const label of placed.toReversed()) {
    label.share = Math.min(label.share, room);
    room = label.share - gap;
  }
  for (const label of placed) for (const row of label.rows) row.y = valueAt(label.share, y.span, y.log);
  const kept = new Set(placed.flatMap((label) => label.rows));
  for (const layer of layers)
    if (layer.encoding?.x?.value === "width" && layer.data?.values) layer.data.values = layer.data.values.filter((row) => kept.has(row));
};

// Labels at a place that is out of sight are left out: they are not clipped to the plot.
const isOutside = (layer, { x, y }) => {
  if (layer.mark?.clip !== false) return false;
  const out = (position, span) => position?.datum !== undefined && (position.datum < span[0] || position.datum > span[1]);
  return out(layer.encoding.x, x.span) || out(layer.encoding.y, y.span);
};

// Names of lines at places of x contain the place: they follow the axis to its other unit.
const followUnit = ({ figure, axes }, layers) => {
  if (axes.x.factor === 1) return;
  const told = new Set((figure.rules ?? []).filter((rule) => rule.axis === "x").map((rule) => rule.label));
  for (const { mark } of layers)
    if (told.has(mark.text)) mark.text = mark.text.replace(/[\d,]*\.?\d+$/, (number) => reading(Number(number.replaceAll(",", "")) * axes.x.factor));
};

// Vega draws layers in their order, so they stay where they are.
const without = (layers, gone) => layers.filter((layer) => !gone(layer))
  .map((layer) => (layer.layer ? { ...layer, layer: without(layer.layer, gone) } : layer));

const specOf = (plot) => {
  const spec = structuredClone(plot.spec);
  spec.params[0].value = [...plot.state.hidden];
  if (plot.figure.kind !== "lines") return spec;
  plot.axes = axesOf(plot);
  const { x, y } = plot.axes;
  const layers = leaves(spec.layer);
  spec.datasets = {};
  for (const layer of layers) {
    const name = layer.data?.name;
    if (!name) continue;
    const points = within(plot.points[Number(name.slice(1))], x.span);
    const isEnvelope = layers.some((other) => other.data?.name === name && other.mark.type === "area");
    spec.datasets[name] ??= (isEnvelope ? envelope(points, x.span, x.log) : points)
      .filter((point) => point.x2 === undefined || point.y > 0)
      .map((point) => ({ x: point.x, x2: point.x2, y: point.y, low: point.low, high: point.high }));
  }
  const left = spec.layer[0].layer ?? spec.layer;
  applyAxis(layers, "x", x, plot.figure.x);
  applyAxis(left, "y", y, plot.figure.y);
  if (x.zoomed || y.zoomed) {
    moveEndLabels(plot, layers, plot.axes, spec.height - 70);
    spec.layer = without(spec.layer, (layer) => isOutside(layer, plot.axes));
  }
  followUnit(plot, layers);
  return spec;
};

const plotOf = async (element) => {
  if (element.plot) return element.plot;
  const [{ tables, figures }, { specs, thinned }] = await Promise.all([model(), plots()]);
  const figure = figures.get(element.id);
  const table = tables.get(figure.table_id);
  const series = figure.series ?? [];
  const points = figure.kind === "lines" ? series.map((_, n) => pointsOf(figure, n, table, thinned[table.id])) : [];
  return (element.plot = { element, figure: { zoom_group: "", ...figure, series }, table, points, spec: specs[element.id], state: stateOf(element) });
};

// Names of points and of places along x are kept apart for 720 px, and still mostly at 560. What is wider than
// the window is made smaller by the style sheet.
const narrowest = ({ kind, rules = [], marks = [], bands = [], y2 }) => {
  const isPlain = kind === "lines" && !y2 && !marks.length && bands.length < 3 && !rules.some((rule) => rule.axis === "x");
  return isPlain ? 440 : 560;
};

// On a telephone the buttons of series are the legend: labels beside lines would take half of the room.
const withoutLabels = (layers) => {
  const beside = (layer) => layer.encoding?.x?.value === "width" && layer.data?.values;
  for (const layer of leaves(layers).filter(beside)) layer.data.values = layer.data.values.filter((row) => !row.key);
  return without(layers, (layer) => beside(layer) && !layer.data.values.length);
};

const draw = async (element) => {
  const live = element.querySelector(".live");
  if (!live || element.dataset.kind === "columns3d") return;
  const turn = (element.turn = (element.turn ?? 0) + 1);
  const [plot, embed, { config }] = await Promise.all([plotOf(element), vega(), plots()]);
  const spec = specOf(plot);
  const room = element.querySelector(".drawing").clientWidth;
  spec.width = Math.max(Math.min(narrowest(plot.figure), spec.width), Math.min(1000, room));
  const choice = element.querySelector(".names");
  if (spec.width > room && choice) {
    choice.open = true;
    spec.layer = withoutLabels(spec.layer);
  }
  const holder = document.createElement("div");
  const result = await embed(holder, spec, { actions: false, renderer: "svg", config: config[theme()] });
  if (turn !== element.turn) { result.finalize(); return; }  // the reader was quicker
  views.get(element)?.finalize();
  views.set(element, result);
  const svg = holder.querySelector("svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", plot.figure.alt);
  live.replaceChildren(holder);
  live.hidden = false;
  element.querySelector(".static").hidden = true;
  element.dataset.live = "yes";
  nameSeries(live);
  leaveCursor(plot);
};

// Marks of a series know it, so that a table's row can point at them.
const nameSeries = (live) => {
  for (const group of live.querySelectorAll("g[class*='_marks']")) {
    const name = /(?:^|[\s_])(s\d+)_\d+_/.exec(` ${group.getAttribute("class")}`);
    if (name) group.dataset.series = name[1];
  }
};

// Only what is near the window is drawn; what changed elsewhere is drawn when the reader gets there.
const inSight = new Set();
const near = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) { inSight.delete(target); continue; }
    inSight.add(target);
    if (!target.dataset.live || target.dataset.stale) {
      delete target.dataset.stale;
      draw(target);
    }
  }
}, { rootMargin: "400px" });

const redraw = (element) => {
  if (inSight.has(element)) return draw(element);
  if (views.has(element)) element.dataset.stale = "yes";
  return null;
};
const redrawAll = () => Promise.all([...views.keys()].map(redraw));

const sameZoom = (plot) => [...document.querySelectorAll("figure[data-kind=lines]")]
  .filter((element) => element === plot.element || (plot.figure.zoom_group && element.dataset.zoomGroup === plot.figure.zoom_group));

const zoomTo = (plot, span) => {
  const group = groupOf(plot.figure);
  const [low, high] = ends(plot.figure.x);
  const inside = span && [Math.max(low, span[0]), Math.min(high, span[1])];
  if (inside && inside[0] < inside[1] && (inside[0] > low || inside[1] < high)) zooms.set(group, inside);
  else zooms.delete(group);
  return Promise.all(sameZoom(plot).map(redraw));
};
