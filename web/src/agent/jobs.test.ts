import { expect, it } from "vitest";
import { batchSummary, formatTime, groupJobs, resourcesText, statusText } from "./jobs";
import type { Job } from "./protocol";

const STATE: Job["state"] = { phase: "running", reason: "", place: null, expected_start: null, ends_at: null, node: "", last: "", log: [] };

function job(id: string, phase: Job["state"]["phase"], more: Partial<Job> = {}): Job {
  return { id, kind: "task", name: id, created_at: 0, resources: { gpus: 0, memory_bytes: 0 }, batch: "", path: "", progress: null, saved: "", scan: "", is_training: false, state: { ...STATE, phase }, ...more };
}

it("puts batches together, what runs first, and what ended long ago apart", () => {
  const over = Array.from({ length: 8 }, (_, index) => job(`over-${index}`, "ended"));
  const { current, earlier, activeCount } = groupJobs([job("a", "running", { batch: "b" }), ...over, job("c", "ended", { batch: "b" })]);
  expect(current[0]?.map(({ id }) => id)).toEqual(["a", "c"]);
  expect([current.length, earlier.map(([one]) => one?.id), activeCount]).toEqual([7, ["over-1", "over-0"], 1]);
});

it("sums up a batch", () => {
  const running = job("b", "running", { progress: { fraction: 0.5, text: "", result: "" } });
  expect(batchSummary([job("a", "ended"), running])).toMatchObject({ done: 1, failed: 0, phase: "running", fraction: 0.75, running });
  expect(batchSummary([job("a", "ended"), job("b", "lost")])).toMatchObject({ done: 2, failed: 1, phase: "failed" });
  expect(batchSummary([job("a", "queued"), job("b", "queued")])).toMatchObject({ phase: "queued", fraction: 0 });
});

it("says how a task ended, and why one waits", () => {
  expect(statusText(job("a", "ended", { progress: { fraction: 1, text: "", result: "/out/a.zarr" } }))).toBe("Done: a.zarr");
  expect(statusText(job("a", "queued", { state: { ...STATE, phase: "queued", reason: "Waiting for resources.", place: 3 } }))).toBe("Waiting for resources · position 3 in the queue");
  expect(statusText(job("a", "failed", { state: { ...STATE, phase: "failed", log: ["one", "pellucid: two", "three"] } }))).toBe("two three");
});

it("writes resources and times", () => {
  expect([resourcesText({ gpus: 2, memory_bytes: 4 * 2 ** 30 }), resourcesText({ gpus: 0, memory_bytes: 0 })]).toEqual(["2 GPUs, 4.0 GiB", ""]);
  const noon = new Date(2026, 0, 5, 12, 30);
  expect(formatTime(noon.getTime() / 1000, noon)).toMatch(/^12:30/);
  expect(formatTime(noon.getTime() / 1000, new Date(2026, 0, 6))).toMatch(/5.*12:30/);
});
