// The page of one person's agent: files at the left, what runs at the right.

import { open } from "./access.js";
import { ask, element, refuse } from "./asking.js";
import { browse } from "./files.js";
import { setSite } from "./forms.js";
import { watch } from "./jobs.js";

function where({ scheduler, partition, product }) {
  const place = scheduler === "local" ? "on this machine" : `on Slurm${partition ? `, partition ${partition}` : ""}`;
  return `Jobs run ${place} · version ${product}`;
}

// Behind a Hub one person comes after another at the same browser, and programs need tokens.
function showHub(hub) {
  const links = [["Tokens", "token"], ["Log out", "logout"]];
  const made = links.map(([text, page]) => element("a.button.is-plain", text, { href: `${hub}/${page}` }));
  document.querySelector("header").append(...made);
}

let isOpen = true;
try {
  await open();
  const about = await ask("GET", "api/about");
  setSite(about);
  document.getElementById("site").textContent = where(about);
  if (about.hub) showHub(about.hub);
} catch (error) {
  isOpen = false;
  refuse(error);
}
if (isOpen) {
  browse();
  watch();
}
