// Files of the library. A page that lies in a file may load scripts alone, so that each file has a twin that is one.

const index = JSON.parse(document.getElementById("index").textContent);
const inFile = location.protocol === "file:";
const arriving = new Map();

const loadScript = (name) =>
  new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${name}?v=${index.files[name]}`;
    script.onload = () => (script.remove(), done());
    script.onerror = () => failed(new Error(`can't load ${name}: the folder is not whole; publish it again`));
    document.head.append(script);
  });

window.openptsFile = (name, base64) => {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
  arriving.get(name)(bytes.buffer);
};

const fromTwin = (name) =>
  new Promise((done, failed) => {
    arriving.set(name, done);
    loadScript(`${name}.js`).catch(failed);
  });

const fromHost = async (name) => {
  const answer = await fetch(`${name}?v=${index.files[name]}`);
  if (!answer.ok) throw new Error(`can't load ${name}: the host answers ${answer.status}`);
  return answer.arrayBuffer();
};

// A host may have decompressed what ends in .gz.
const unpacked = (buffer) => {
  const [first, second] = new Uint8Array(buffer, 0, 2);
  if (first !== 0x1f || second !== 0x8b) return buffer;
  return new Response(new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};

const fileOf = async (name) => unpacked(await (inFile ? fromTwin(name) : fromHost(name)));

const once = (make) => {
  const made = new Map();
  return (name, ...more) => {
    if (!made.has(name)) made.set(name, make(name, ...more).catch((error) => { made.delete(name); throw error; }));
    return made.get(name);
  };
};

// Elements: all text is text, whatever it holds.
const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
};

const tableOf = (label, head, rows, more = {}) =>
  element("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" },
    element("table", { class: "plain", ...more }, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows)));

const column = (text, attributes = {}) => element("th", { scope: "col", ...attributes }, text);

const counted = (number, one) => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;

const numberText = (value) =>
  value === null || value === undefined ? "" : Number(value).toLocaleString("en", { maximumSignificantDigits: 6 });

const download = (name, text) => {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

// A text that a spreadsheet would take for a formula gets an apostrophe.
const csvCell = (value) => {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && value !== "-" ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const csvOf = (columns, rows) => [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\n") + "\n";
