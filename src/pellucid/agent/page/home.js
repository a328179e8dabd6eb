// What one person has running: listed, started, opened, stopped.

const OVER = ["ended", "failed", "lost"];
const REFRESH_MS = 1000;

async function ask(method, path, body) {
  const sent = body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, { method, ...sent });
  const content = await answer.json();
  if (!answer.ok) throw new Error(`${content.what} ${content.do}`);
  return content;
}

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function button(text, act) {
  const made = element("button", text);
  made.type = "button";
  made.addEventListener("click", () => act().catch(refuse));
  return made;
}

function refuse(error) {
  const place = document.getElementById("refusal");
  place.textContent = error.message;
  place.hidden = false;
}

const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString();

function why(job) {
  const { state, progress } = job;
  const parts = [state.reason];
  if (state.place) parts.push(`place ${state.place}`);
  if (state.expected_start) parts.push(`expected at ${clock(state.expected_start)}`);
  if (state.last) parts.push(`${state.last} when last seen`);
  if (progress && !OVER.includes(state.phase)) parts.push(progress.text);
  return parts.filter(Boolean).join(", ");
}

function wanted({ gpus, memory_bytes: memory }) {
  const parts = [gpus ? `${gpus} GPU${gpus > 1 ? "s" : ""}` : "", memory ? `${(memory / 2 ** 30).toFixed(1)} GiB` : ""];
  return parts.filter(Boolean).join(", ");
}

async function showLog(job) {
  const place = document.getElementById("log");
  place.textContent = await (await fetch(`api/jobs/${job.id}/log`)).text();
  place.hidden = false;
}

function row(job) {
  const made = element("tr");
  const state = element("td", job.state.phase);
  state.append(element("span", why(job), "why"));
  const actions = element("td");
  if (job.path) {
    const open = element("a", "Open");
    open.href = job.path;
    open.target = "_blank";
    open.rel = "noopener";
    actions.append(open);
  }
  actions.append(button("Log", () => showLog(job)));
  if (!OVER.includes(job.state.phase)) actions.append(button("Stop", () => ask("DELETE", `api/jobs/${job.id}`).then(refresh)));
  made.append(
    element("td", job.name), state, element("td", job.state.node), element("td", wanted(job.resources)),
    element("td", clock(job.created_at)), actions,
  );
  return made;
}

let shown = "";

async function refresh() {
  const jobs = (await ask("GET", "api/jobs")).reverse();
  const text = JSON.stringify(jobs);
  if (text === shown) return; // Rows that stay keep their focus.
  shown = text;
  document.getElementById("jobs").replaceChildren(...jobs.map(row));
  document.getElementById("nothing").hidden = jobs.length > 0;
}

function wish(form) {
  const given = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
  const { source, shape, dtype, gpus, partition } = given;
  return {
    ...(source && { source, roots: [source.replace(/\/[^/]*$/, "") || "/"] }),
    ...(shape && { shape: shape.split(/[ ,x×]+/).map(Number), dtype }),
    ...(gpus && { gpus: Number(gpus) }),
    ...(partition && { overrides: { partition } }),
  };
}

document.getElementById("start").addEventListener("submit", (event) => {
  event.preventDefault();
  document.getElementById("refusal").hidden = true;
  ask("POST", "api/instances", wish(event.target)).then(refresh).catch(refuse);
});

const { scheduler, product } = await ask("GET", "api/about");
document.getElementById("site").textContent = `Version ${product}, jobs run ${scheduler === "local" ? "on this machine" : "on Slurm"}.`;

async function keepUp() {
  await refresh().catch(refuse);
  setTimeout(keepUp, REFRESH_MS);
}
keepUp();
