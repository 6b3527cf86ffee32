// ---- cursor: a line that snaps to measured points, what is there, and zooming in x

const DRAG_PX = 6;
const STEP_OF_ZOOM = 0.5;

const UNIT = /^(.*) \((%|ms|us|s|min|h|fills|[KMGT]i?B(?:\/s)?|m?W|°?C|A\.U\.)\)$/;
const unitName = (title) => UNIT.exec(title)?.[2] ?? (title.startsWith("%") ? "%" : title === "IOPS" ? title : "");

const isHistogram = (figure) => figure.series.some((series) => series.style === "bars");
const isRead = (plot, series, number) => isShown(series, number, plot.state) && series.style !== "fit"
  && !(series.second_axis && isHistogram(plot.figure));  // its values are those of the bars

const shownPoints = (plot) => plot.points.flatMap((points, number) =>
  (isRead(plot, plot.figure.series[number], number)
    ? points.filter((point) => point.x >= plot.axes.x.span[0] && point.x <= plot.axes.x.span[1]) : []));

// Where the cursor stops: each x that has a measured value in sight.
const stopsOf = (plot) => [...new Set(shownPoints(plot).map((point) => point.x))].sort((a, b) => a - b);

// Means represent the time around them, so they are read beside their place too; points are not.
const nearestMean = (points, x) => {
  const nearest = points.reduce((best, point) => (Math.abs(point.x - x) < Math.abs(best.x - x) ? point : best), points[0]);
  const spacing = points.length > 1 ? (points.at(-1).x - points[0].x) / (points.length - 1) : 0;
  return nearest && Math.abs(nearest.x - x) <= spacing * 0.75 ? nearest : null;
};

// Exactly the point at x; null where the series has none.
const pointAt = (plot, number, x) => {
  const points = plot.points[number];
  const { style = "measured" } = plot.figure.series[number];
  return points.find((point) => point.x === x) ?? (["mean", "line", "dashed", "range"].includes(style) ? nearestMean(points, x) : null);
};

const withUnit = (text, title) => [text, unitName(title)].filter(Boolean).join(" ");

// The lines of the tooltip in the plot's order: name, value with unit, color.
const linesAt = (plot, x) => {
  const { figure } = plot;
  return figure.series.flatMap((series, number) => {
    if (!isRead(plot, series, number)) return [];
    const point = pointAt(plot, number, x);
    if (!point) return [];
    const own = series.second_axis ? { title: figure.y2.title, factor: 1 } : plot.axes.y;
    const values = [point.value, ...(point.most === undefined ? [] : [point.most])];
    const text = (own.factor === 1 && point.text) || values.map((value) => reading(value * own.factor)).join(" to ");
    const line = { name: series.label, text: withUnit(text, own.title), color: colorOf(plot, series), point };
    if (series.style !== "bars") return [line];
    return [line, { name: "Share", text: `${reading(point.share)} %` },
      { name: "Confidence level", text: `${reading(point.level)} %` }];
  });
};

const colorOf = (plot, series) => {
  const length = { series: 8, mix: 7 }[plot.figure.palette ?? "series"];
  return `var(--${plot.figure.palette ?? "series"}-${((series.color ?? 0) % length) + 1})`;
};

const placeAt = (plot, x) => {
  const { title, factor } = plot.axes.x;
  const [, name, unit] = UNIT.exec(title) ?? [title, title, ""];
  const point = plot.points.flat().find((one) => one.x === x);
  const textOf = (head) => (factor === 1 ? head.text.replace(/^R(?=\d)/, "") : reading(head.value * factor));
  const until = point.until ? `to ${textOf(point.until)}` : "";
  return [name, textOf({ text: point.at || reading(x), value: x }), until, unit].filter(Boolean).join(" ");
};

// The plot's own area on the page, and where x and y lie in it.
const boxOf = (plot) => plot.element.querySelector(".live .mark-group.role-frame.root .background").getBoundingClientRect();

const liveOf = (plot) => plot.element.querySelector(".live");

const part = (plot, name) => {
  let element = liveOf(plot).querySelector(`:scope > .${name}`);
  if (!element) {
    element = document.createElement("div");
    element.className = name;
    element.setAttribute("aria-hidden", "true");
    liveOf(plot).append(element);
  }
  return element;
};

const leaveCursor = (plot) => {
  plot.at = null;
  liveOf(plot)?.querySelectorAll(":scope > .cursor, :scope > .tip, :scope > .dot").forEach((element) => element.remove());
  plot.element.querySelector(".readout").textContent = "";
};

const showDots = (plot, lines, box, home) => {
  liveOf(plot).querySelectorAll(":scope > .dot").forEach((dot) => dot.remove());
  for (const { point, color } of lines) {
    if (!point || point.x2 !== undefined) continue;
    const up = shareOf(point.y, plot.axes.y.span, plot.axes.y.log);
    const across = shareOf(point.x, plot.axes.x.span, plot.axes.x.log);
    if (!(up >= 0 && up <= 1)) continue;
    const dot = document.createElement("div");
    dot.className = "dot";
    dot.style.cssText = `left:${box.left - home.left + across * box.width}px;top:${box.bottom - home.top - up * box.height}px;border-color:${color}`;
    liveOf(plot).append(dot);
  }
};

const showTip = (plot, lines, left, box, home) => {
  const tip = part(plot, "tip");
  const head = document.createElement("b");
  head.textContent = placeAt(plot, plot.at);
  tip.replaceChildren(head, ...lines.map(({ name, text, color }) => {
    const line = document.createElement("div");
    const swatch = document.createElement("i");
    swatch.style.background = color ?? "transparent";
    const value = document.createElement("span");
    value.textContent = text;
    line.append(swatch, name, value);
    return line;
  }));
  const beside = left + 14 + tip.offsetWidth < home.width ? left + 14 : left - 14 - tip.offsetWidth;
  tip.style.left = `${Math.max(0, beside)}px`;
  tip.style.top = `${box.top - home.top + 10}px`;
};

const showCursor = (plot, x, { aloud = false } = {}) => {
  const [box, home] = [boxOf(plot), liveOf(plot).getBoundingClientRect()];
  plot.at = x;
  const lines = linesAt(plot, x);
  const middle = plot.points.flat().find((point) => point.x === x && point.x2 !== undefined);
  const share = shareOf(x, plot.axes.x.span, plot.axes.x.log);
  const end = middle ? shareOf(middle.x2, plot.axes.x.span, plot.axes.x.log) : share;
  const left = box.left - home.left + ((share + end) / 2) * box.width;
  const line = part(plot, "cursor");
  line.style.cssText = `left:${left}px;top:${box.top - home.top}px;height:${box.height}px`;
  showDots(plot, lines, box, home);
  showTip(plot, lines, left, box, home);
  if (aloud) plot.element.querySelector(".readout").textContent =
    `${placeAt(plot, x)}: ${lines.map(({ name, text }) => `${name} ${text}`).join("; ")}`;
};

// Curves have no x in common, so the pointer means a point of one of them; else only x counts.
const nearestStop = (plot, event) => {
  const box = boxOf(plot);
  const { x, y } = plot.axes;
  const [across, up] = [(event.clientX - box.left) / box.width, (box.bottom - event.clientY) / box.height];
  const rows = plot.figure.series.every((series) => ["spline", "measured"].includes(series.style ?? "measured"));
  const points = shownPoints(plot);
  const isCurves = rows && new Set(points.map((point) => point.x)).size > points.length * 0.8;
  const weight = isCurves ? 1 : 0;
  let [best, least] = [null, Infinity];
  for (const point of points) {
    const middle = point.x2 === undefined ? point.x : valueAt(0.5, [point.x, point.x2], x.log);
    const dx = (shareOf(middle, x.span, x.log) - across) * box.width;
    const dy = (shareOf(point.y, y.span, y.log) - up) * box.height * weight;
    const distance = dx * dx + dy * dy;
    if (distance < least) [best, least] = [point.x, distance];
  }
  return best;
};

const isInside = (box, event) => event.clientX >= box.left - 4 && event.clientX <= box.right + 4
  && event.clientY >= box.top && event.clientY <= box.bottom;

const livePlot = (target) => {
  const element = target.closest?.(".live")?.closest("figure[data-kind=lines]");
  return element && views.has(element) ? element.plot : null;
};

let drag = null;

const spanOfDrag = () => {
  const { plot, box } = drag;
  const shares = [drag.from, drag.to].map((client) => Math.min(1, Math.max(0, (client - box.left) / box.width)));
  return shares.sort((a, b) => a - b).map((share) => valueAt(share, plot.axes.x.span, plot.axes.x.log));
};

const showDrag = () => {
  const home = liveOf(drag.plot).getBoundingClientRect();
  const [left, right] = [drag.from, drag.to].sort((a, b) => a - b)
    .map((client) => Math.min(drag.box.right, Math.max(drag.box.left, client)) - home.left);
  part(drag.plot, "brush").style.cssText =
    `left:${left}px;width:${right - left}px;top:${drag.box.top - home.top}px;height:${drag.box.height}px`;
};

document.addEventListener("pointermove", (event) => {
  if (drag) {
    drag.to = event.clientX;
    showDrag();
    return;
  }
  const plot = livePlot(event.target);
  if (!plot?.axes) return;
  const stop = isInside(boxOf(plot), event) ? nearestStop(plot, event) : null;
  if (stop === null) leaveCursor(plot);
  else if (stop !== plot.at) showCursor(plot, stop);
});

document.addEventListener("pointerout", (event) => {
  const plot = livePlot(event.target);
  if (plot && !plot.element.querySelector(".live").contains(event.relatedTarget)) leaveCursor(plot);
});

document.addEventListener("pointerdown", (event) => {
  const plot = livePlot(event.target);
  if (!plot?.axes || event.button !== 0 || event.pointerType === "touch") return;
  const box = boxOf(plot);
  if (isInside(box, event)) drag = { plot, box, from: event.clientX, to: event.clientX };
});

document.addEventListener("pointerup", () => {
  if (!drag) return;
  const { plot, from, to } = drag;
  const span = spanOfDrag();
  liveOf(plot).querySelector(":scope > .brush")?.remove();
  drag = null;
  if (Math.abs(to - from) >= DRAG_PX) zoomTo(plot, span);
});

document.addEventListener("dblclick", (event) => {
  const plot = livePlot(event.target);
  if (plot) zoomTo(plot, null);
});

// Keys: arrows step, Home and End go to the ends, + and - zoom around the cursor, Escape leaves.
const zoomByKey = (plot, factor) => {
  const { span, log } = plot.axes.x;
  const centre = plot.at === null || plot.at === undefined ? 0.5 : shareOf(plot.at, span, log);
  zoomTo(plot, [valueAt(centre - factor / 2, span, log), valueAt(centre + factor / 2, span, log)]);
};

const keys = {
  ArrowRight: (stops, at) => stops.find((stop) => stop > (at ?? -Infinity)) ?? stops.at(-1),
  ArrowLeft: (stops, at) => stops.findLast((stop) => stop < (at ?? Infinity)) ?? stops[0],
  Home: (stops) => stops[0],
  End: (stops) => stops.at(-1),
};

document.addEventListener("keydown", async (event) => {
  const element = event.target.closest?.(".drawing")?.closest("figure[data-kind=lines]");
  if (!element || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!(event.key in keys) && !["+", "-", "Escape"].includes(event.key)) return;
  event.preventDefault();
  if (!views.has(element)) await draw(element);
  const { plot } = element;
  if (!plot?.axes) return;
  if (event.key === "Escape") {
    leaveCursor(plot);
    if (zooms.has(groupOf(plot.figure))) zoomTo(plot, null);
  } else if (event.key === "+") zoomByKey(plot, STEP_OF_ZOOM);
  else if (event.key === "-") zoomByKey(plot, 1 / STEP_OF_ZOOM);
  else {
    const stop = keys[event.key](stopsOf(plot), plot.at);
    if (stop !== undefined) showCursor(plot, stop, { aloud: true });
  }
});
