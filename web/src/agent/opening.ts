// Opening what the agent has in another tab. Here: the tab, waiting for a viewer that was just started, one that runs already. Not here: starting one (SelectionPane.tsx).

import type { AgentApi } from "./api";
import { isOver } from "./jobs";
import type { Job } from "./protocol";

/** The tab is opened at once: later the browser would block it. note: shown in it until the address is known. */
export async function openTab(address: () => Promise<string>, note = ""): Promise<void> {
  const tab = window.open("", "_blank");
  if (tab && note) showNote(tab.document, note);
  try {
    const href = new URL(await address(), document.baseURI).href;
    if (!tab) throw new Error("The browser blocked the new tab. Allow pop-ups for this page.");
    tab.opener = null;
    tab.location.replace(href);
  } catch (error) {
    tab?.close();
    throw error;
  }
}

function showNote(page: Document, note: string): void {
  page.title = note;
  page.body.textContent = note;
  page.documentElement.style.colorScheme = "light dark";
}

/** The viewer that was started for the reconstruction of a scan last, if it still runs. */
export function viewerOf(scan: string, jobs: readonly Job[]): Job | null {
  const running = jobs.filter((job) => job.kind === "viewer" && job.scan === scan && !isOver(job) && job.state.phase !== "ending");
  return running.reduce<Job | null>((last, job) => (last === null || job.created_at > last.created_at ? job : last), null);
}

/** The address of a viewer whose page is to show the reconstruction of a scan, although it may have been closed there. */
export const withScan = (address: string, scan: string): string => `${address}&scan=${encodeURIComponent(scan)}`;

/** The address of a viewer, as soon as it runs. */
export async function addressWhenRunning(api: Pick<AgentApi, "changedJob" | "viewerAddress">, started: Job): Promise<string> {
  if (started.path) return api.viewerAddress(started.id);
  if (isOver(started)) throw new Error(`The viewer stopped before its page could be opened. ${started.state.log.at(-1) ?? started.state.reason}`.trim());
  return addressWhenRunning(api, await api.changedJob(started));
}
