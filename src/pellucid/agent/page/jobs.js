// What runs, waits and has ended: listed, opened, stopped.

import { request, ticketFor } from "./access.js";
import { OVER, ask, button, clock, element, link, opener, refuse, size } from "./asking.js";

const REFRESH_MS = 1000;
const PICTURE = /\.(png|jpe?g|gif|webp|mp4|webm|txt|json|csv)$/i;

const isOver = (job) => OVER.includes(job.state.phase);

function why(job) {
  const { state, progress } = job;
  const isDone = job.kind === "task" && state.phase === "ended" && progress?.fraction === 1;
  const parts = [isDone ? `Done, ${progress.result.split("/").pop() || "nothing to open"}` : state.reason.replace(/\.$/, "")];
  if (state.place) parts.push(`place ${state.place} in the queue`);
  if (state.expected_start) parts.push(`expected at ${clock(state.expected_start)}`);
  if (state.ends_at) parts.push(`until ${clock(state.ends_at)}`);
  if (state.last) parts.push(`${state.last} when last seen`);
  if (progress && !isOver(job)) parts.push(progress.text);
  if (state.phase === "failed") parts.push(state.log.slice(-2).join(" ").replace(/^pellucid: /, ""));
  return parts.filter(Boolean).join(" · ");
}

function wanted({ gpus, memory_bytes: memory }) {
  return [gpus ? `${gpus} GPU${gpus > 1 ? "s" : ""}` : "", memory ? size(memory) : ""].filter(Boolean).join(", ");
}

async function showLog(job) {
  const dialog = document.getElementById("log");
  dialog.querySelector("h2").textContent = job.name;
  dialog.querySelector("pre").textContent = "";
  dialog.showModal();
  const text = await (await request(`api/jobs/${job.id}/log`)).text();
  dialog.querySelector("pre").textContent = text.trim() || "Nothing has been written.";
}

const folderOf = (path) => path.replace(/\/[^/]*$/, "") || "/";
export const startViewer = (wish) => ask("POST", "api/instances", wish).then(refresh);

function result({ progress, state }) {
  const made = progress?.result;
  if (!made || state.phase !== "ended") return null;
  // Only a page from this machine or by https may use the clipboard.
  if (/^https?:/.test(made)) return navigator.clipboard ? button("Copy link", () => navigator.clipboard.writeText(made)) : link("Open link", made);
  if (PICTURE.test(made)) return opener("Open result", () => ticketFor(`api/files/content?show=1&path=${encodeURIComponent(made)}`));
  return button("Open result", () => startViewer({ source: made, roots: [folderOf(made)] }));
}

function actions(job) {
  const goOn = job.saved && isOver(job) && button("Go on", () => startViewer({ state: job.saved, name: job.name }));
  return element("div.actions", [
    job.path && opener("Open", async () => (await ask("POST", `api/jobs/${job.id}/open`)).path, "is-main"),
    result(job),
    goOn,
    button("Log", () => showLog(job), "is-plain"),
    !isOver(job) && button("Stop", () => ask("DELETE", `api/jobs/${job.id}`).then(refresh), "is-plain"),
  ]);
}

function bar(fraction) {
  const made = element("progress.progress");
  if (fraction !== null) made.value = fraction;
  return made;
}

function card(job) {
  const { phase, node } = job.state;
  const facts = [job.kind, node, wanted(job.resources), `from ${clock(job.created_at)}`].filter(Boolean).join(" · ");
  const made = element("article.card", [
    element("span.phase.is-" + phase, phase),
    element("div.what", [element("h3", job.name, { title: job.name }), element("p.hint", facts)]),
    actions(job),
    why(job) && element("p.why", why(job)),
    job.progress && !isOver(job) && phase === "running" && bar(job.progress.fraction),
  ]);
  made.setAttribute("aria-label", job.name);
  return made;
}

function batchCard(jobs) {
  const count = (test) => jobs.filter(test).length;
  const done = count(isOver);
  const failed = count((job) => ["failed", "lost"].includes(job.state.phase));
  const now = jobs.find((job) => job.state.phase === "running");
  const phase = done === jobs.length ? (failed ? "failed" : "ended") : now ? "running" : jobs[0].state.phase;
  const fraction = (done + (now?.progress?.fraction ?? 0)) / jobs.length;
  const live = jobs.filter((job) => !isOver(job));
  const stop = () => ask("DELETE", `api/batches/${jobs[0].batch}`).then(refresh);
  const inside = element("details.members", [element("summary", `All ${jobs.length}`)]);
  inside.addEventListener("toggle", () => inside.open && inside.append(...jobs.map(card)), { once: true });
  const made = element("article.card", [
    element("span.phase.is-" + phase, phase),
    element("div.what", [
      element("h3", `${jobs[0].name.split(" ")[0]}, ${jobs.length} files`),
      element("p.hint", `${done} done${failed ? `, ${failed} failed` : ""} · from ${clock(jobs[0].created_at)}`),
    ]),
    element("div.actions", [live.length > 0 && button("Stop all", stop, "is-plain")]),
    now && element("p.why", now.name),
    live.length > 0 && bar(fraction),
    inside,
  ]);
  made.setAttribute("aria-label", `batch of ${jobs.length}`);
  return made;
}

// Cards that stay as they are keep their place, their focus and what is open in them.
function fill(place, groups) {
  const before = new Map([...place.children].map((child) => [child.dataset.key, child]));
  const cards = groups.map((group) => {
    const text = JSON.stringify(group);
    const old = before.get(group[0].id);
    if (old?.told === text) return old;
    const made = group[0].batch ? batchCard(group) : card(group[0]);
    if (old?.querySelector("details")?.open) made.querySelector("details").open = true;
    made.dataset.key = group[0].id;
    made.told = text;
    return made;
  });
  cards.forEach((made, at) => place.children[at] !== made && place.insertBefore(made, place.children[at] ?? null));
  while (place.children.length > cards.length) place.lastChild.remove();
}

let ended = -1;

// What has ended may have left files.
function tellOfEnds(jobs) {
  const count = jobs.filter((job) => job.kind === "task" && isOver(job)).length;
  if (ended >= 0 && count > ended) document.dispatchEvent(new Event("ended"));
  ended = count;
}

export async function refresh() {
  const groups = new Map();
  const jobs = await ask("GET", "api/jobs");
  tellOfEnds(jobs);
  for (const job of jobs) {
    const key = job.batch || job.id;
    groups.set(key, [...(groups.get(key) ?? []), job]);
  }
  const all = [...groups.values()].reverse();
  const live = all.filter((group) => !group.every(isOver));
  // What has just ended stays in sight.
  const recent = all.filter((group) => group.every(isOver)).slice(0, 6);
  const older = all.filter((group) => !live.includes(group) && !recent.includes(group));
  fill(document.getElementById("jobs"), [...live, ...recent]);
  document.getElementById("nothing").hidden = all.length > 0;
  document.getElementById("count").textContent = live.length ? `${live.length} not over` : "";
  const earlier = document.getElementById("earlier");
  earlier.hidden = older.length === 0;
  earlier.querySelector("summary").textContent = `Earlier (${older.length})`;
  if (earlier.open) fill(earlier.querySelector(".list"), older);
}

export function watch() {
  const dialog = document.getElementById("log");
  dialog.querySelector("button").addEventListener("click", () => dialog.close());
  document.getElementById("earlier").addEventListener("toggle", () => refresh().catch(refuse));
  const again = () => refresh().catch(refuse).finally(() => setTimeout(again, REFRESH_MS));
  again();
}
