// What the page shows of jobs. Here: their groups and one line about each. Not here: how cards look (JobCard.tsx), asking for them (JobsPane.tsx).

import { binaryBytes } from "../geometry/measures";
import type { Job } from "./protocol";

const RECENT = 6;

export const isOver = ({ state }: Job): boolean => ["ended", "failed", "lost"].includes(state.phase);
const hasFailed = ({ state }: Job): boolean => ["failed", "lost"].includes(state.phase);

interface JobGroups {
  /** Those that are not over, then the last ones that are: what has just ended stays visible. */
  current: Job[][];
  earlier: Job[][];
  activeCount: number;
}

/** Jobs of one batch together, the newest first. */
export function groupJobs(jobs: readonly Job[]): JobGroups {
  const groups = new Map<string, Job[]>();
  for (const job of jobs) groups.set(job.batch || job.id, [...(groups.get(job.batch || job.id) ?? []), job]);
  const newest = [...groups.values()].toReversed();
  const active = newest.filter((group) => !group.every(isOver));
  const over = newest.filter((group) => group.every(isOver));
  return { current: [...active, ...over.slice(0, RECENT)], earlier: over.slice(RECENT), activeCount: active.length };
}

export function batchSummary(jobs: readonly Job[]): { done: number; failed: number; phase: Job["state"]["phase"]; fraction: number; running: Job | undefined } {
  const done = jobs.filter(isOver).length;
  const failed = jobs.filter(hasFailed).length;
  const running = jobs.find((job) => job.state.phase === "running");
  const phase = done === jobs.length ? (failed ? "failed" : "ended") : running ? "running" : (jobs[0]?.state.phase ?? "unknown");
  return { done, failed, phase, fraction: (done + (running?.progress?.fraction ?? 0)) / jobs.length, running };
}

/** Why it waits, how far it is, how it ended. */
export function statusText(job: Job): string {
  const { state, progress } = job;
  const isDone = job.kind === "task" && state.phase === "ended" && progress?.fraction === 1;
  const parts = [isDone ? `Done: ${progress.result.split("/").pop() || "no output to open"}` : state.reason.replace(/\.$/, "")];
  if (state.place) parts.push(`position ${state.place} in the queue`);
  if (state.expected_start) parts.push(`expected start ${formatTime(state.expected_start)}`);
  if (state.ends_at) parts.push(`time limit ${formatTime(state.ends_at)}`);
  if (state.last) parts.push(`last known state: ${state.last}`);
  if (progress && !isOver(job)) parts.push(progress.text);
  if (state.phase === "failed") parts.push(state.log.slice(-2).join(" ").replace(/^pellucid: /, ""));
  return parts.filter(Boolean).join(" · ");
}

export function resourcesText({ gpus, memory_bytes: memory }: Job["resources"]): string {
  return [gpus ? gpuText(gpus) : "", memory ? binaryBytes(memory) : ""].filter(Boolean).join(", ");
}

export const gpuText = (gpus: number): string => `${gpus || "no"} GPU${gpus > 1 ? "s" : ""}`;

/** seconds: since 1970. Today without the date. */
export function formatTime(seconds: number, now: Date = new Date()): string {
  const moment = new Date(seconds * 1000);
  const time = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  if (moment.toDateString() === now.toDateString()) return time;
  return `${moment.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
}
