import { expect, it } from "vitest";
import { addressWhenRunning, viewerOf, withScan } from "./opening";
import type { Job, Phase } from "./protocol";

const job = (phase: Phase, path = "", reason = ""): Job => ({
  id: "a1",
  kind: "viewer",
  name: "scan",
  created_at: 0,
  resources: { gpus: 0, memory_bytes: 0 },
  state: { phase, reason, place: null, expected_start: null, ends_at: null, node: "", last: "", log: [] },
  batch: "",
  path,
  progress: null,
  saved: "",
  scan: "",
  is_training: false,
});

function agent(later: Job[]): Parameters<typeof addressWhenRunning>[0] & { asked: Phase[] } {
  const asked: Phase[] = [];
  const changedJob = ({ state }: Job): Promise<Job> => {
    asked.push(state.phase);
    const next = later.shift();
    return next ? Promise.resolve(next) : Promise.reject(new Error("asked too often"));
  };
  return { asked, changedJob, viewerAddress: (id) => Promise.resolve(`i/${id}/#code=once`) };
}

it("waits until a viewer runs, and asks for its address then", async () => {
  const api = agent([job("starting"), job("starting"), job("running", "i/a1/")]);
  expect(await addressWhenRunning(api, job("queued"))).toBe("i/a1/#code=once");
  expect(api.asked).toEqual(["queued", "starting", "starting"]);
});

it("says why a viewer that ended cannot be opened", async () => {
  await expect(addressWhenRunning(agent([job("failed", "", "Out of memory.")]), job("starting"))).rejects.toThrow("The viewer stopped before its page could be opened. Out of memory.");
});

it("finds the viewer that was started for a scan last, if it still runs", () => {
  const of = (id: string, scan: string, phase: Phase, created_at: number): Job => ({ ...job(phase), id, scan, created_at });
  const jobs = [of("a", "/one.h5", "running", 1), of("b", "/one.h5", "starting", 2), of("c", "/one.h5", "ended", 3), of("d", "/two.h5", "ending", 4)];
  expect(viewerOf("/one.h5", jobs)?.id).toBe("b");
  expect(viewerOf("/two.h5", jobs)).toBeNull();
  expect(viewerOf("", [{ ...job("running"), kind: "task" }])).toBeNull();
});

it("names the scan behind the code", () => {
  expect(withScan("i/a1/#code=once", "/data/scan & 1.h5")).toBe("i/a1/#code=once&scan=%2Fdata%2Fscan%20%26%201.h5");
});
