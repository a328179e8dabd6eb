// Asking the agent, and making what is shown.

import { request } from "./access.js";

export const OVER = ["ended", "failed", "lost"];

export async function ask(method, path, body) {
  const sent = body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await request(path, { method, ...sent });
  const content = await answer.json().catch(() => ({ what: "The agent cannot be reached.", do: "Reload this page." }));
  if (!answer.ok) throw new Error(`${content.what} ${content.do}`);
  return content;
}

export function refuse(error) {
  const place = document.getElementById("refusal");
  place.textContent = error.message;
  place.hidden = false;
}

export function calm() {
  document.getElementById("refusal").hidden = true;
}

// element("p.hint", "words") or element("div.bar", [child, child])
export function element(what, content = "", properties = {}) {
  const [name, ...classes] = what.split(".");
  const made = Object.assign(document.createElement(name), properties);
  if (classes.length) made.className = classes.join(" ");
  if (Array.isArray(content)) made.append(...content.filter(Boolean));
  else made.textContent = content;
  return made;
}

export function button(text, act, kind = "") {
  const made = element(kind ? `button.button.${kind}` : "button.button", text, { type: "button" });
  made.addEventListener("click", () => {
    calm();
    Promise.resolve(act()).catch(refuse);
  });
  return made;
}

export function link(text, href, kind = "") {
  return element(kind ? `a.button.${kind}` : "a.button", text, { href, target: "_blank", rel: "noopener" });
}

// Opens an address that is asked for when it is needed. The tab is made at once: later, a browser would block it.
export function opener(text, address, kind = "") {
  return button(text, async () => {
    const tab = window.open("", "_blank");
    try {
      const href = new URL(await address(), location.href).href;
      if (!tab) throw new Error("The browser did not open a tab. Allow it for this page.");
      tab.opener = null;
      tab.location.replace(href);
    } catch (error) {
      tab?.close();
      throw error;
    }
  }, kind);
}

const ICONS = {
  folder: "M1.5 4.5a1 1 0 0 1 1-1h3.6l1.5 1.7h5.9a1 1 0 0 1 1 1v6.3a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1z",
  volume: "M8 1.6 14 4.8v6.4L8 14.4 2 11.2V4.8zM8 8l6-3.2M8 8 2 4.8M8 8v6.4",
  mesh: "M8 2 14.5 13.5H1.5zM8 2v11.5M4.8 7.7h6.4",
  points: "M4 4h.01M11 3.5h.01M7.5 8h.01M12.5 9.5h.01M3.5 11.5h.01M9 13h.01",
  file: "M4 1.8h5.2L12.5 5v9.2H4zM9 1.8V5h3.5",
};

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon is-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name] ?? ICONS.file);
  svg.append(path);
  return svg;
}

export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let step = 0;
  for (; bytes >= 1024 && step < units.length - 1; step += 1) bytes /= 1024;
  return `${step && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[step]}`;
}

export function clock(seconds) {
  const moment = new Date(seconds * 1000);
  const isToday = moment.toDateString() === new Date().toDateString();
  const time = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  return isToday ? time : `${moment.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
}
