import { expect, it } from "vitest";
import type { Hit, Probe, ProbeSlice } from "../protocol";
import { ProbeQueue } from "./probeQueue";

const HIT: Hit = { position: [1, 2, 3], layer: 0, voxel: [3, 2, 1], value: 7, label: null, label_layer: -1 };

it("answers the latest question, and the ones before with nothing", async () => {
  const sent: (Probe | ProbeSlice)[] = [];
  const probeQueue = new ProbeQueue((probe) => sent.push(probe) > 0);
  const first = probeQueue.ask({ type: "probe", x: 0.1, y: 0.1, view: "main" });
  const second = probeQueue.ask({ type: "probe_slice", x: 0.2, y: 0.2, axis: "z" });
  expect(await first).toBeNull();
  expect(probeQueue.isBusy).toBe(true);
  probeQueue.answered({ type: "probe_result", request: sent[1]?.request ?? "", hit: HIT });
  expect(await second).toBe(HIT);
  expect(probeQueue.isBusy).toBe(false);
});

it("answers nothing while the line is down", async () => {
  expect(await new ProbeQueue(() => false).ask({ type: "probe", x: 0, y: 0, view: "main" })).toBeNull();
});
