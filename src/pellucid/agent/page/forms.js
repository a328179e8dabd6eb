// Forms: a viewer, or a task for one file or many; what it takes is estimated, and can be chosen otherwise.

import { ask, calm, element, refuse, size } from "./asking.js";
import { refresh, startViewer } from "./jobs.js";

const TYPES = ["uint8", "uint16", "int16", "float32"];
const CODECS = ["", "zstd", "lz4", "gzip", "blosc", "none"];

// Of each command: what it makes, and the options that are asked for. Everything else goes into "More options".
const COMMANDS = {
  convert: { title: "Convert", output: "{folder}/{stem}.zarr", isPlain: true, options: { "--dtype": ["Type", ["", ...TYPES]], "--codec": ["Compression", CODECS], "--box": ["Box", "z0:z1,y0:y1,x0:x1"], "--pyramid": ["All levels", true] } },
  reconstruct: { title: "Reconstruct", output: "{folder}/{stem}-volume.zarr", options: { "--center": ["Axis", "auto"], "--method": ["Method", ["", "direct", "gridding", "sirt", "cgls"]], "--ring": ["Rings", ["", "auto", "vo-all", "vo-sorting", "fourier-wavelet", "titarenko"]], "--pyramid": ["All levels", true] } },
  render: { title: "Picture", output: "{folder}/{stem}.png", options: { "--size": ["Pixels", "1024x1024"], "--preset": ["Look", "auto"], "--shading": ["Light", ["", "none", "gradient", "shadow", "occlusion"]] } },
  slices: { title: "Slices", output: "{folder}/{stem}-slices.png", options: {} },
  mesh: { title: "Mesh", output: "{folder}/{stem}.ply", options: { "--isovalue": ["Isovalue", "such as 1200"] } },
  share: { title: "Share", options: { "--days": ["Days", "7"], "--to": ["To, where the site has no place", "s3://BUCKET/FOLDER"] } },
};

let site = { may_override: [], scheduler: "local" };
export const setSite = (about) => { site = about; };

function field(name, label, kind) {
  if (kind === true) return element("label.check", [element("input", "", { type: "checkbox", name }), element("span", label)]);
  const input = Array.isArray(kind)
    ? element("select", kind.map((one) => element("option", one || "as usual", { value: one })), { name })
    : element("input", "", { name, placeholder: kind ?? "", autocomplete: "off" });
  return element("label.field", [element("span", label), input]);
}

function placing() {
  const fields = [field("gpus", "GPUs", "auto"), field("memory", "Memory", "auto")];
  const may = (name) => site.scheduler !== "local" && site.may_override.includes(name);
  if (may("partition")) fields.push(field("partition", "Partition", site.partition || "the site's"));
  if (may("time_limit_minutes")) fields.push(field("time", "Minutes", String(site.time_limit_minutes)));
  return element("div.fields", fields);
}

const units = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };
function bytes(text) {
  const found = /^([\d.]+)\s*([kmgt]?)i?b?$/i.exec(text.trim());
  if (!found) throw new Error(`${text} is no size. Give one such as 64GiB.`);
  return Math.round(Number(found[1]) * (units[found[2].toLowerCase()] ?? 1));
}

function placed({ gpus, memory, partition, time }) {
  const overrides = { ...(partition && { partition }), ...(time && { time_limit_minutes: Number(time) }) };
  return { ...(gpus && { gpus: Number(gpus) }), ...(memory && { memory_bytes: bytes(memory) }), overrides };
}

const given = (form) => Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));

function open(title, content, submit, act) {
  calm();
  const dialog = document.getElementById("ask");
  const form = element("form", [element("h2", title), ...content], { method: "dialog" });
  const fault = element("p.refusal", "", { hidden: true });
  const cancel = element("button.button", "Cancel", { type: "button" });
  cancel.addEventListener("click", () => dialog.close());
  form.append(fault, element("div.actions", [cancel, element("button.button.is-main", submit)]));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    fault.hidden = true;
    Promise.resolve().then(() => act(given(form))).then(() => dialog.close()).catch((error) => {
      fault.textContent = error.message;
      fault.hidden = false;
    });
  });
  dialog.setAttribute("aria-label", title);
  dialog.replaceChildren(form);
  dialog.showModal();
  return form;
}

const shapeOf = (text) => text.split(/[ ,x×]+/).filter(Boolean).map(Number);

// The estimate follows what is written, and stands where nothing is chosen.
function estimateInto(form, note) {
  const say = async () => {
    const { shape = "", dtype } = given(form);
    if (shapeOf(shape).length !== 3) return;
    const query = [...shapeOf(shape).map((one) => `shape=${one}`), `dtype=${dtype}`].join("&");
    const found = await ask("GET", `api/estimate?${query}`);
    form.elements.gpus.placeholder = String(found.gpus);
    form.elements.memory.placeholder = size(found.memory_bytes);
    note.textContent = `Estimated: ${found.gpus || "no"} GPU${found.gpus > 1 ? "s" : ""} and ${size(found.memory_bytes)} of memory.`;
  };
  const again = () => say().catch((error) => { note.textContent = error.message; });
  form.elements.shape.addEventListener("change", again);
  form.elements.dtype.addEventListener("change", again);
  again();
}

// Of several volumes in a file, the largest is meant.
function largestOf(facts) {
  return facts?.volumes.reduce((most, one) => (one.bytes > most.bytes ? one : most)) ?? null;
}

function named(path, facts) {
  return facts?.volumes.length > 1 ? largestOf(facts).name : path;
}

export function askForViewer(source = "", facts = null) {
  const note = element("p.hint", "The size that will be shown; GPUs and memory follow from it.");
  const form = open("New viewer", [
    field("source", "File", "nothing at first"),
    element("div.fields", [field("shape", "Size (z, y, x)", "2048, 2048, 2048"), field("dtype", "Type", TYPES)]),
    note, placing(),
  ], "Start", ({ source, shape, dtype, ...rest }) => startViewer({
    ...(source && { source, roots: [source.replace(/:.*$/, "").replace(/\/[^/]*$/, "") || "/"] }),
    ...(shape && { shape: shapeOf(shape), dtype }),
    ...placed(rest),
  }));
  form.elements.source.value = named(source, facts);
  form.elements.dtype.value = "float32";
  const largest = largestOf(facts);
  if (largest) {
    form.elements.shape.value = largest.shape.join(", ");
    if (!TYPES.includes(largest.dtype)) form.elements.dtype.append(element("option", largest.dtype));
    form.elements.dtype.value = largest.dtype;
  }
  estimateInto(form, note);
}

// Words as a shell would split them.
const words = (text) => [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((found) => found[1] ?? found[2] ?? found[3]);

function commandLine(command, { output, more, ...options }) {
  const { isPlain, options: known } = COMMANDS[command];
  const made = Object.keys(known).flatMap((name) => {
    if (options[name] === undefined) return [];
    return known[name][1] === true ? [name] : [`${name}=${options[name]}`];
  });
  const target = output === undefined ? [] : isPlain ? [output] : ["-o", output];
  return [command, "{file}", ...target, ...made, ...words(more ?? "")];
}

export function askForTask(command, files, facts = null) {
  const { title, output, options } = COMMANDS[command];
  const many = files.length > 1;
  const folder = files[0].replace(/\/[^/]*$/, "") || "/";
  const stem = files[0].slice(folder.length).replace(/^\//, "").split(".")[0];
  const shown = many ? output : output?.replace("{folder}", folder).replace("{stem}", stem);
  const fields = Object.entries(options).map(([name, [label, kind]]) => field(name, label, kind));
  const form = open(`${title} ${many ? `${files.length} files` : files[0].split("/").pop()}`, [
    output && field("output", "Output"),
    element("div.fields", fields),
    field("more", "More options", "as on the command line"),
    placing(),
  ].filter(Boolean), "Start", ({ gpus, memory, partition, time, ...rest }) => ask("POST", "api/batches", {
    files: ["share", "reconstruct"].includes(command) ? files : files.map((file) => named(file, facts)),
    folder,
    arguments: commandLine(command, rest), ...placed({ gpus, memory, partition, time }),
  }).then(refresh));
  if (output) form.elements.output.value = shown;
  form.elements.gpus.placeholder = "none";
}

document.getElementById("view-nothing").addEventListener("click", () => {
  try {
    askForViewer();
  } catch (error) {
    refuse(error);
  }
});
