import { expect, it } from "vitest";
import { addressWhenRunning } from "./opening";
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
