// Opening what the agent has in another tab. Here: the tab, and waiting for a viewer that was just started. Not here: starting one (SelectionPane.tsx).

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

/** The address of a viewer, as soon as it runs. */
export async function addressWhenRunning(api: Pick<AgentApi, "changedJob" | "viewerAddress">, started: Job): Promise<string> {
  if (started.path) return api.viewerAddress(started.id);
  if (isOver(started)) throw new Error(`The viewer stopped before its page could be opened. ${started.state.log.at(-1) ?? started.state.reason}`.trim());
  return addressWhenRunning(api, await api.changedJob(started));
}
