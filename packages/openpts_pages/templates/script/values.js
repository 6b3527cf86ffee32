// ---- values: the model stands in the page once, packed, and is read when something first asks for it

const COLUMNS = 1200;  // of an envelope: more than a screen shows

const unpack = async (id) => {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
};

const once = (make) => {
  let made;
  return () => (made ??= make());
};

const modelText = once(() => unpack("model"));

const model = once(async () => {
  const report = JSON.parse(await modelText());
  const pages = [report.front, ...report.sections.map((section) => section.pages), report.back].flat();
  const named = (type) => new Map(pages.flatMap((page) => page.blocks)
    .filter((block) => block.type === type).map((block) => [block.id, block]));
  const redLines = [report.red_line, ...report.sections.flatMap((section) => section.alerts)];
  return { report, tables: named("table"), figures: named("figure"), redLines: [...new Set(redLines.filter(Boolean))] };
});

const plots = once(async () => JSON.parse(await unpack("plots")));

const vega = once(async () => {
  const script = document.createElement("script");
  script.textContent = await unpack("vega");
  document.head.append(script);
  return window.vegaEmbed;
});

// Where a value lies on its axis: on one of nines the count of nines, at most that of its end.
const nines = (pct) => Math.round(-Math.log10(Math.max(1 - pct / 100, 1e-12)) * 1e9) / 1e9;
const place = (value, axis) => (axis.scale === "nines" ? nines(Math.min(value, axis.domain[1])) : value);

const cellsOf = (series, table, line) =>
  (series.by === "row" ? table.rows[line].cells : table.rows.map((row) => row.cells[line]));

const headsOf = (series, table) =>
  (series.by === "row" ? table.columns.map((column) => ({ text: column.label, value: column.value }))
    : table.rows.map((row) => row.head));

// The points of a series as they stand on the axes, with the texts of their cells. A thinned table has the least
// and the largest value of each mean in columns behind those of the means.
const pointsOf = (figure, number, table, thinned) => {
  const series = figure.series[number];
  const line = series.lines[0];
  const axis = series.second_axis ? figure.y2 : figure.y;
  const heads = headsOf(series, table);
  const means = cellsOf(series, table, line);
  const side = (n, of = line) => (thinned ? cellsOf(series, table, of + n * thinned.columns) : cellsOf(series, table, of));
  const isRange = series.style === "range";
  const [lows, highs] = [side(1), side(2, isRange ? series.lines[1] : line)];
  const points = [];
  means.forEach((cell, n) => {
    const [x, y] = [heads[n].value, cell.value];
    const isNowhere = axis.scale === "log" && y <= 0;
    if (x == null || y == null || (isNowhere && series.style !== "bars")) return;  // an empty bar can be read
    points.push({
      x: place(x, figure.x), y: place(y, axis), low: place(lows[n].value, axis), high: place(highs[n].value, axis),
      at: heads[n].text, text: isRange ? `${cell.text} to ${highs[n].text}` : cell.text, value: y, index: n,
      ...(isRange && { most: highs[n].value }),
    });
  });
  if (series.style === "bars") endBars(points, heads, figure);
  return points;
};

// A bar reaches to the next x of the table; the last one is as long as the one before it.
const endBars = (points, heads, figure) => {
  const edges = heads.filter((head) => head.value != null);
  const place_ = (n) => place(edges[n].value, figure.x);
  const last = edges.length - 1;
  let before = 0;
  const total = points.reduce((sum, point) => sum + point.value, 0);
  for (const point of points) {
    const n = edges.findIndex((edge) => edge === heads[point.index]);
    point.x2 = n < last ? place_(n + 1) : point.x + (n > 0 ? point.x - place_(n - 1) : 1);
    point.until = n < last ? edges[n + 1] : null;
    before += point.value;
    point.share = (100 * point.value) / total;
    point.level = (100 * before) / total;
  }
};

const shareOf = (value, [low, high], log) =>
  (log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
const valueAt = (share, [low, high], log) => (log ? low * (high / low) ** share : low + share * (high - low));

// The points that a range of x shows, and one to each side, so that lines reach the plot's edges.
const within = (points, span) => {
  const inside = (point) => (point.x2 ?? point.x) >= span[0] && point.x <= span[1];
  const first = points.findIndex(inside);
  const last = points.findLastIndex(inside);
  return first < 0 ? [] : points.slice(Math.max(0, first - 1), last + 2);
};

// Minimum, maximum and mean of each column of the plot: no spike is lost.
const envelope = (points, span, log) => {
  const columns = new Map();
  for (const point of points) {
    const share = shareOf(point.x, span, log);
    if (!(share >= 0 && share <= 1)) continue;
    const n = Math.min(COLUMNS - 1, Math.floor(share * COLUMNS));
    const column = columns.get(n);
    if (!column) { columns.set(n, { x: point.x, low: point.low, high: point.high, y: point.y, count: 1 }); continue; }
    column.low = Math.min(column.low, point.low);
    column.high = Math.max(column.high, point.high);
    column.y += (point.y - column.y) / ++column.count;
  }
  return [...columns].sort(([a], [b]) => a - b).map(([n, column]) => (
    { ...column, x: column.count > 1 ? valueAt((n + 0.5) / COLUMNS, span, log) : column.x }));
};

// Round numbers between two ends: 1, 2, 5 of each decade, or of the step that leaves about six.
const roundTicks = ([low, high], log) => {
  if (log && high / low >= 10) {
    const of = high / low >= 100 ? [1] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const digit of of) ticks.push(digit * 10 ** power);
    return ticks.filter((tick) => tick >= low * 0.9999 && tick <= high * 1.0001);
  }
  const rough = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((digit) => digit * power >= rough) * power;
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) ticks.push(Number((n * step).toPrecision(12)));
  return ticks;
};

// One decimal from 10 on, else three significant digits; per cents of many nines keep them.
const rounded = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 8 });
const brief = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const reading = (value) => {
  if (value > 99 && value < 100) return exact.format(value);
  return (Math.abs(value) >= 10 ? rounded : brief).format(value);
};
