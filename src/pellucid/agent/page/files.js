// The person's files: shown, chosen, looked into, fetched and sent.

import { UNREACHABLE, headersFor, ticketFor } from "./access.js";
import { ask, button, calm, clock, element, icon, refuse, size } from "./asking.js";
import { askForTask, askForViewer } from "./forms.js";

const VIEWABLE = ["volume", "mesh", "points"];
const chosen = new Map();
let shown = { path: "", entries: [] };
let looking = 0;

const content = (path, show = "") => `api/files/content?path=${encodeURIComponent(path)}${show}`;

function download(path) {
  return button("Download", async () => {
    const made = element("a", "", { href: await ticketFor(content(path)), download: "" });
    made.click();
  });
}

async function go(folder) {
  shown = await ask("GET", `api/files?folder=${encodeURIComponent(folder)}`);
  chosen.clear();
  list();
  showChosen();
}

// There may be new files; what is chosen stays so.
async function goAgain() {
  const found = await ask("GET", `api/files?folder=${encodeURIComponent(shown.path)}`);
  if (found.path !== shown.path) return;
  shown = found;
  list();
  mark();
}

function list() {
  document.getElementById("path").replaceChildren(...crumbs());
  const up = shown.parent !== null && row({ name: "..", path: shown.parent, kind: "folder", is_folder: true, size: null });
  document.getElementById("entries").replaceChildren(...[up, ...shown.entries.map(row)].filter(Boolean));
  document.getElementById("upload").hidden = !shown.can_write;
  if (shown.is_cut) document.getElementById("entries").append(element("li.hint", "There is more; this list is cut."));
}

// From the root on: what lies above that cannot be gone to.
function crumbs() {
  if (!shown.path) return [element("h2", "Files")];
  const below = shown.path.slice(shown.root.length).split("/").filter(Boolean);
  const steps = below.map((name, at) => [name, `${shown.root.replace(/\/$/, "")}/${below.slice(0, at + 1).join("/")}`]);
  const top = [shown.root.split("/").filter(Boolean).pop() ?? "/", shown.root];
  return [top, ...steps].map(([name, path]) => button(name, () => go(path), "is-plain"));
}

function row(entry) {
  const isFolder = entry.kind === "folder";
  const name = element("button.name", [icon(entry.kind), element("span", entry.name)], { type: "button", title: entry.path });
  name.addEventListener("click", (event) => (isFolder ? go(entry.path) : choose(entry, event)).catch(refuse));
  const tick = element("input.tick", "", { type: "checkbox", disabled: isFolder });
  tick.setAttribute("aria-label", `Choose ${entry.name}`);
  tick.addEventListener("change", () => toggle(entry, tick.checked));
  const facts = [entry.size === null ? "" : size(entry.size), entry.changed_at ? clock(entry.changed_at) : ""];
  const made = element("li.entry", [tick, name, ...facts.map((fact) => element("span.hint", fact))]);
  made.dataset.path = entry.path;
  return made;
}

async function choose(entry, event) {
  if (!event.ctrlKey && !event.metaKey) chosen.clear();
  chosen.set(entry.path, entry);
  showChosen();
}

function toggle(entry, isOn) {
  if (isOn) chosen.set(entry.path, entry);
  else chosen.delete(entry.path);
  showChosen();
}

function mark() {
  for (const item of document.querySelectorAll("#entries > li[data-path]")) {
    const isOn = chosen.has(item.dataset.path);
    item.classList.toggle("is-on", isOn);
    item.querySelector(".tick").checked = isOn;
  }
}

function showChosen() {
  calm();
  mark();
  const entries = [...chosen.values()];
  const place = document.getElementById("chosen");
  if (entries.length === 0) place.replaceChildren(element("p.hint", "Choose a file to look into it, or several to work on all of them."));
  else if (entries.length === 1) showOne(place, entries[0]);
  else place.replaceChildren(element("h2", `${entries.length} files`), taskButtons(entries));
}

function taskButtons(entries, facts = null) {
  const files = entries.map((entry) => entry.path);
  const task = (text, command) => button(text, () => askForTask(command, files, facts));
  const isScan = !facts || facts.scan;
  return element("div.actions", [
    task("Convert", "convert"), isScan && task("Reconstruct", "reconstruct"), task("Picture", "render"),
    task("Slices", "slices"), entries.length === 1 && task("Mesh", "mesh"), task("Share", "share"),
    facts && download(files[0]),
  ]);
}

function showOne(place, entry) {
  const state = element("p.hint", VIEWABLE.includes(entry.kind) ? "Looking into it …" : "");
  const facts = element("dl.facts");
  const view = button("View", () => askForViewer(entry.path, facts.found), "is-main");
  const more = element("div.actions", [download(entry.path), button("Share", () => askForTask("share", [entry.path]))]);
  place.replaceChildren(element("h2", entry.name, { title: entry.path }), state, facts, more);
  if (!VIEWABLE.includes(entry.kind)) return;
  more.prepend(view);
  if (entry.kind === "volume") look(entry, state, facts, more, view).catch((error) => { state.textContent = error.message; });
  else state.textContent = entry.kind;
}

async function look(entry, state, facts, more, view) {
  const turn = (looking += 1);
  const found = await ask("GET", `api/files/facts?path=${encodeURIComponent(entry.path)}`);
  if (turn !== looking) return;
  facts.found = found;
  state.textContent = found.scan ? `A scan (${found.scan.scan})` : "";
  const rows = factsOf(found.volumes);
  if (found.scan?.projections) rows.unshift(["Projections", `${found.scan.projections}, flats ${found.scan.flats}, darks ${found.scan.darks}, ${Number(found.scan.span_deg.toPrecision(4))}°`]);
  if (found.scan?.lacks) rows.unshift(["Lacks", found.scan.lacks]);
  facts.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
  const buttons = taskButtons([entry], found);
  buttons.prepend(view);
  more.replaceWith(buttons);
  document.querySelector("#entries > .is-on")?.scrollIntoView({ block: "nearest" });
}

// Everything of one volume; of several, what each of them is.
function factsOf(volumes) {
  const shape = (volume) => `${volume.shape.join(" × ")} ${volume.dtype}, ${size(volume.bytes)}`;
  if (volumes.length > 1) return volumes.slice(0, 5).map((volume) => [volume.name.split(":").pop(), shape(volume)]);
  return volumes.flatMap((volume) => [
    ["Shape", shape(volume)],
    ["Spacing", `${volume.spacing.map((one) => Number(one.toPrecision(4))).join(" × ")} ${volume.unit}`],
    ["Format", [volume.format, volume.codec, volume.levels.length > 1 && `${volume.levels.length} levels`].filter(Boolean).join(", ")],
  ]);
}

function send(file) {
  const place = document.getElementById("chosen");
  const bar = element("progress.progress", "", { value: 0 });
  const line = element("div.sending", [element("p.hint", `Sending ${file.name}`), bar]);
  place.prepend(line);
  return headersFor().then((headers) => new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", `api/files/content?folder=${encodeURIComponent(shown.path)}&name=${encodeURIComponent(file.name)}`);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => { bar.value = event.loaded / event.total; });
    request.addEventListener("error", () => reject(new Error(UNREACHABLE)));
    request.addEventListener("load", () => {
      if (request.status < 300) return resolve();
      const said = JSON.parse(request.responseText);
      return reject(new Error(`${said.what} ${said.do}`));
    });
    request.send(file);
  })).finally(() => line.remove());
}

async function sendAll(files) {
  calm();
  const folder = shown.path;
  for (const file of files) await send(file);
  if (shown.path === folder) await go(folder);
}

export function browse() {
  const input = document.querySelector("#upload input");
  input.addEventListener("change", () => sendAll([...input.files]).catch(refuse).finally(() => { input.value = ""; }));
  const pane = document.querySelector(".files");
  pane.addEventListener("dragover", (event) => event.preventDefault());
  pane.addEventListener("drop", (event) => {
    event.preventDefault();
    if (shown.can_write) sendAll([...event.dataTransfer.files]).catch(refuse);
  });
  document.addEventListener("ended", () => goAgain().catch(refuse));
  go("").catch(refuse);
}
