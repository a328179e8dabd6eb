import { expect, it } from "vitest";
import type { Hit, Probe } from "../protocol";
import { Prober } from "./prober";

const HIT: Hit = { position: [1, 2, 3], layer: 0, voxel: [3, 2, 1], value: 7, label: null };

it("answers the latest question, and the ones before with nothing", async () => {
  const sent: Probe[] = [];
  const prober = new Prober((probe) => sent.push(probe) > 0);
  const first = prober.ask(0.1, 0.1, "main");
  const second = prober.ask(0.2, 0.2, "main");
  expect(await first).toBeNull();
  expect(prober.isBusy).toBe(true);
  prober.answered({ type: "probed", request: sent[1]?.request ?? "", hit: HIT });
  expect(await second).toBe(HIT);
  expect(prober.isBusy).toBe(false);
});

it("answers nothing while the line is down", async () => {
  expect(await new Prober(() => false).ask(0, 0, "main")).toBeNull();
});
