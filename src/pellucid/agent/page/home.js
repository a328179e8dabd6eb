// The page of one person's agent: files at the left, what runs at the right.

import { ask, refuse } from "./asking.js";
import { browse } from "./files.js";
import { setSite } from "./forms.js";
import { watch } from "./jobs.js";

function where({ scheduler, partition, product }) {
  const place = scheduler === "local" ? "on this machine" : `on Slurm${partition ? `, partition ${partition}` : ""}`;
  return `Jobs run ${place} · version ${product}`;
}

try {
  const about = await ask("GET", "api/about");
  setSite(about);
  document.getElementById("site").textContent = where(about);
} catch (error) {
  refuse(error);
}
browse();
watch();
