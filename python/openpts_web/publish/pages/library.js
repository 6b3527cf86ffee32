// The runs of this library, their measures, and DuckDB when it is asked for.

const library = { runs: [], byName: new Map() };
const chosen = new Set();

const cellText = (name, value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return name === "started_at" ? text.slice(0, 16).replace("T", " ") : text;
};

const labelsOf = (run) => Object.entries(run.labels ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));

const known = (run) => {
  run.words = [...Object.keys(index.columns).map((name) => cellText(name, run[name])), run.profile, run.operator,
    run.host, run.mark, ...labelsOf(run).map(([name, value]) => `${name}=${value}`)].join("\n").toLowerCase();
  library.byName.set(run.run, run);
  library.runs.push(run);
};

const rowsOf = async (file) => parquetReadObjects({ file });
const blockOf = once(async (name) => rowsOf(await fileOf(name)));

const openLibrary = async () => {
  for (const [place, run] of (await rowsOf(await fileOf("data/runs.parquet"))).entries()) {
    run.block = index.measures[Math.floor(place / index.block)];
    known(run);
  }
  library.runs.sort(byBegin);
};

const byBegin = (one, other) => (one.started_at === other.started_at ? (one.run < other.run ? 1 : -1) : one.started_at < other.started_at ? 1 : -1);

const rowsOfRun = async (file, run) => (await blockOf(file)).filter((row) => row.run === run.run);
const measuresOf = (run) => rowsOfRun(run.block, run);
const deviationsOf = (run) => rowsOfRun("data/deviations.parquet", run);

// DuckDB in a worker of its own. Tables are handed to it as files, and it says what became of them.
const database = (() => {
  let ready = null;
  const start = async (said) => {
    said("Loading DuckDB ...");
    const [code, wasm] = await Promise.all(["pages/worker.js.gz", "pages/duckdb.wasm.gz"].map(fileOf));
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const worker = new Worker(url);
    const waiting = new Map();
    worker.onmessage = ({ data }) => {
      const { done, failed } = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.error) failed(new Error(data.error));
      else done(data.answer);
    };
    const ask = (message, handed = []) =>
      new Promise((done, failed) => {
        const id = Math.random();
        waiting.set(id, { done, failed });
        worker.postMessage({ id, ...message }, handed);
      });
    await ask({ wasm, tables: index.tables }, [wasm]);
    URL.revokeObjectURL(url);
    const names = ["data/runs.parquet", "data/deviations.parquet", ...index.measures];
    let loaded = 0;
    await eachOf(names, 6, async (name) => {
      const file = await fileOf(name);
      await ask({ table: /^data\/([a-z]+)/.exec(name)[1], file }, [file]);
      said(`Loading tables: ${++loaded} of ${names.length} files`);
    });
    await ask({ finished: true });
    said("");
    return ask;
  };
  return {
    query: async (sql, said = () => {}) => {
      ready ??= start(said).catch((error) => { ready = null; throw error; });
      return (await ready)({ sql });
    },
  };
})();

const eachOf = async (items, atOnce, act) => {
  const left = items.values();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (const item of left) await act(item);
  }));
};
