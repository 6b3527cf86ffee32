// A run as its events tell it. All that is shown follows from the lines alone, so that a reader that comes
// again after a cut, or after the run was killed and resumed, shows the same as one that was never away.
"use strict";
(() => {
  const root = document.getElementById("live");
  const at = (id) => document.getElementById(id);
  const MOST_POINTS = 300;
  const LEAST_POINTS = 30;
  const MS = 1e6;
  const fresh = () => ({ run: null, phase: null, steps: 0, progress: null, step: null, course: [], tracked: new Map(),
    notes: [], phases: new Map(), state: "", purge: "", attempts: 0 });
  let seen = fresh();
  let inProgress = null;
  let waiting = false;

  const number = (value, digits = 3) => (value == null ? "-" : value.toLocaleString("en", { maximumSignificantDigits: digits }));
  const duration = (ns) => {
    const s = Math.round(ns / 1e9);
    if (s < 120) return `${s} s`;
    return s < 7200 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
  };
  const words = (phase) => phase.replaceAll("_", " ").replace("wipc", "workload-independent preconditioning").replace("wdpc", "workload-dependent preconditioning");
  const element = (name, text, kind = "") => {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  const note = (text, at_, kind = "") => seen.notes.push({ text, at: at_.slice(0, 19).replace("T", " "), kind });
  const FOLD = {
    run_started(line) {
      seen.attempts += 1;
      if (line.resumes_at) note(`resumed: ${line.resumes_at}`, line.at);
      else if (seen.run) note("begun again", line.at);
      Object.assign(seen, { run: line, state: "running", steps: line.resumes_at ? seen.steps : 0 });
      for (const limit of line.host_limits ?? []) note(limit, line.at);
    },
    purge_started() { seen.purge = "purging"; seen.phase = null; },
    purge_progress(line) { seen.purge = line.share == null ? line.text : `purge: ${Math.round(100 * line.share)} %`; },
    purge_finished(line) { seen.purge = ""; note(line.ran ? `purged: ${line.method}, ${duration(line.duration_ns)}` : `no purge: ${line.detail}`, line.at); },
    phase_started(line) {
      seen.phase = line;
      seen.phases.set(`${line.cycle} ${line.phase}`, { ...line, first: seen.phases.get(`${line.cycle} ${line.phase}`)?.first ?? line.number });
    },
    progress(line) {
      seen.progress = line;
      seen.course.push(line.iops);
      if (seen.course.length > MOST_POINTS) seen.course.shift();
    },
    step_finished(line) {
      seen.steps += 1;
      seen.step = line;
      if (line.failure) note(`a step failed: ${line.failure}`, line.at, "fail");
    },
    steady_state(line) {
      for (const one of line.variables) seen.tracked.set(one.name, { ...one, number: line.number });
    },
    cycle_finished(line) { note(`${line.title || `cycle ${line.cycle}`}: ${line.steady_round == null ? `not steady in ${line.last_round}` : `steady in ${line.steady_round}`}`, line.at); },
    host_limited(line) { note(`the host was the limit: ${Object.keys(line.limited_ns).join(", ")}`, line.at, "fail"); },
    deviation(line) { if (line.steps < 2) note(`deviation ${line.rule_id}: required ${line.required}; used ${line.used}`, line.at); },
    note(line) { note(line.text, line.at); },
    limits_judged(line) { for (const one of line.limits) note(`${one.judgement}: ${one.name} ${one.limit}`, line.at, one.judgement === "fail" ? "fail" : ""); },
    run_finished(line) { seen.state = line.state; if (line.reason) note(line.reason, line.at, "fail"); },
    stream_finished(line) { if (line.error) note(line.error, line.at, "fail"); },
  };

  const tile = (key, value) => { at(`tile-${key}`).textContent = value; };
  const drawTiles = () => {
    const { progress, step, run } = seen;
    tile("iops", number(progress?.iops));
    tile("rate", progress ? number(progress.bytes_per_s / 1e6) : "-");
    tile("temperature", number(progress?.temperature_c));
    tile("fills", number(progress?.drive_fills));
    tile("steps", run ? `${seen.steps} of ${run.planned_steps}` : `${seen.steps}`);
    const all = Object.values(step?.operations ?? {}).filter((one) => one.latency_mean_ns != null);
    const ios = all.reduce((sum, one) => sum + one.ios, 0);
    tile("mean", ios ? number(all.reduce((sum, one) => sum + one.latency_mean_ns * one.ios, 0) / ios / MS) : "-");
    const tails = all.map((one) => one.percentiles_ns?.["p99.9"]);
    tile("p999", tails.length && tails.every((one) => one != null) ? number(Math.max(...tails) / MS) : "-");
    tile("max", ios ? number(Math.max(...all.map((one) => one.latency_max_ns)) / MS) : "-");
    at("share").value = run ? Math.min(1, seen.steps / Math.max(1, run.planned_steps)) : 0;
  };
  const drawState = () => {
    const cutOff = seen.state === "running" && inProgress === false;
    const state = cutOff ? "cut off" : seen.state || "waiting";
    at("state").textContent = state;
    at("state").className = `state ${cutOff ? "interrupted" : seen.state}`;
    const { phase, progress, run } = seen;
    const most = phase?.most ? ` of at most ${phase.most}` : "";
    const stimulus = phase?.stimuli[progress?.place.position];
    const step = stimulus ? `, ${stimulus}` : "";
    at("phase").textContent = seen.purge || (phase ? `${words(phase.phase)} ${phase.number}${most}${step}` : "");
    const left = progress?.left_ns ?? null;
    at("left").textContent = seen.state !== "running" ? "" : left == null
      ? (run ? `${duration(run.longest_ns)} at most in all, if steady state is late` : "")
      : `${duration(left)} left${progress.left_bounded ? " at most" : ", if steady state is never reached"}`;
  };
  const drawCourse = () => {
    const most = Math.max(...seen.course, 1);
    const points = seen.course.map((value, n) => `${(600 * n) / Math.max(LEAST_POINTS, seen.course.length - 1)},${116 - (112 * value) / most}`);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    line.setAttribute("points", points.join(" "));
    at("course").replaceChildren(line);
    at("course").setAttribute("aria-label", `IOPS of the last minutes: up to ${number(most)}`);
  };
  const drawLists = () => {
    at("tracked").replaceChildren(...[...seen.tracked.values()].map((one) => {
      const row = document.createElement("tr");
      const head = element("th", one.name);
      head.scope = "row";
      row.append(head, element("td", `${one.window[0]} to ${one.window.at(-1)}`), element("td", number(one.average, 5)), element("td", number(one.range_pct)),
        element("td", number(one.slope_excursion_pct)), element("td", one.steady ? "steady" : "not yet", `left ${one.steady ? "pass" : "missing"}`));
      return row;
    }));
    const begun = [...seen.phases.values()];
    const plan = seen.run?.plan?.length ? seen.run.plan : begun.map((one) => ({ cycle: one.cycle, phase: one.phase, numbers: one.number }));
    at("plan").replaceChildren(...plan.map((one) => {
      const now = seen.phases.get(`${one.cycle} ${one.phase}`);
      const isNow = now && seen.phase && seen.phase.cycle === one.cycle && seen.phase.phase === one.phase && seen.state === "running";
      const how = isNow ? `now, ${now.number}${one.numbers > 1 ? ` of at most ${one.numbers}` : ""}` : now ? `done, ${now.number}` : `to come${one.longest_ns ? `, ${duration(one.longest_ns)} at most` : ""}`;
      const item = element("li", `${one.cycle > 1 ? `cycle ${one.cycle}, ` : ""}${words(one.phase)}: ${how}`, isNow ? "now" : now ? "done" : "faint");
      if (isNow) item.setAttribute("aria-current", "step");
      return item;
    }));
    at("notes").replaceChildren(...seen.notes.toReversed().slice(0, 200).map((one) => {
      const item = element("li", one.text, one.kind);
      item.prepend(element("span", `${one.at} `, "faint"));
      return item;
    }));
  };
  const draw = () => {
    waiting = false;
    drawTiles();
    drawState();
    drawCourse();
    drawLists();
    root.dataset.steps = seen.steps;
    root.dataset.attempts = seen.attempts;
  };
  const soon = () => { if (!waiting) { waiting = true; setTimeout(draw, 100); } };

  const source = new EventSource(root.dataset.events);
  source.onmessage = (message) => {
    const line = JSON.parse(message.data);
    FOLD[line.kind]?.(line);
    root.dataset.last = message.lastEventId;
    soon();
  };
  source.addEventListener("again", () => { seen = fresh(); soon(); });
  source.addEventListener("state", (message) => { inProgress = JSON.parse(message.data).in_progress; soon(); });
  source.onerror = () => { at("left").textContent = "the server does not answer: waiting for it"; };
})();
