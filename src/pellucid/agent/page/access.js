// What lets this page in: the code in its address once, then a token, which is sent only to the agent.
//
// Another user of this machine may take over the port of an agent that has ended, between two requests. So before every
// request, what answers has to prove that it holds the key of this page's session; before the first, that it holds the code
// or the token. The key stays in this page's memory.
// Behind a Hub the browser's log-in lets the page in, and it needs neither.

const ADDRESS = new URL(".", location.href).href.replace(/[?#].*$/, "");
const PLACE = `pellucid ${ADDRESS}`;
const FRESH_LINK = "Run pellucid open: it gives a fresh link.";
export const UNREACHABLE = "The agent cannot be reached. This page tries again by itself.";
let session = null;

const bytes = (text) => new TextEncoder().encode(text);
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const random = () => hex(crypto.getRandomValues(new Uint8Array(32)));

async function signed(secret, words) {
  const key = await crypto.subtle.importKey("raw", bytes(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return hex(await crypto.subtle.sign("HMAC", key, bytes(words.join(" "))));
}

// The agent's keyed hash of a random number. named: what the key is known by.
async function proof(nonce, named) {
  const headers = { "Content-Type": "application/json" };
  const answer = await reached("api/prove", { method: "POST", headers, body: JSON.stringify({ nonce, ...named }) });
  return (await answer.json().catch(() => ({}))).proof;
}

// A secret is named by its SHA-256, a code by all of it but its last part.
async function check({ code, resume }) {
  const nonce = random();
  const named = code ? { code: code.slice(0, Math.max(code.lastIndexOf("."), 0)) } : { secret_hash: hex(await crypto.subtle.digest("SHA-256", bytes(resume))) };
  if ((await proof(nonce, named)) !== (await signed(code ?? resume, ["program", nonce]))) {
    throw new Error(`This link is not one of this agent, or the agent was started again. ${FRESH_LINK}`);
  }
}

async function opened(body) {
  await check(body);
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("api/session", { method: "POST", headers, body: JSON.stringify({ ...body, address: ADDRESS }) });
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(`${content.what ?? "The agent did not let this page in."} ${content.do ?? FRESH_LINK}`);
  return content;
}

// With the code of the address; else with the token from before a reload; else nothing, which is enough behind a Hub.
export async function open() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  const kept = window.top === window ? sessionStorage.getItem(PLACE) : null;
  if (location.hash) history.replaceState(null, "", location.pathname);
  addEventListener("hashchange", () => location.hash && location.reload());
  const ways = [code && { code }, kept && { resume: kept }].filter(Boolean);
  let fault = null;
  for (const way of ways) {
    try {
      session = await opened(way);
      if (window.top === window) sessionStorage.setItem(PLACE, session.token);
      return;
    } catch (error) {
      fault ??= error;
    }
  }
  if (fault) throw fault;
}

async function prove() {
  const nonce = random();
  if ((await proof(nonce, { session: session.session, address: ADDRESS })) !== (await signed(session.key, ["http", nonce, ADDRESS]))) {
    throw new Error(`What answers here is not the agent that this page was opened with. Nothing was sent to it. ${FRESH_LINK}`);
  }
}

// The headers of a request, once it is known who answers.
export async function headersFor(more = {}) {
  if (session) await prove();
  return session ? { ...more, "Pellucid-Session": session.token } : more;
}

const reached = (path, options) => fetch(path, options).catch(() => { throw new Error(UNREACHABLE); });

export async function request(path, options = {}) {
  return reached(path, { ...options, headers: await headersFor(options.headers) });
}

// An address that the browser can fetch by itself, for a minute; behind a Hub any can be.
export async function ticketFor(path) {
  if (!session) return path;
  const answer = await request("api/tickets", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ path }) });
  if (!answer.ok) throw new Error(`The agent refused the download. ${FRESH_LINK}`);
  return (await answer.json()).url;
}
