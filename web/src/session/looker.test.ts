import { expect, it } from "vitest";
import type { Look } from "../protocol";
import { SCENE } from "../testing/examples";
import { Cutter, Looker } from "./looker";

it("sends the last camera of each animation frame, with the time of the first input", () => {
  const frames: (() => void)[] = [];
  const sent: Look[] = [];
  let now = 0;
  const looker = new Looker((look) => sent.push(look) > 0, { frame: (act) => frames.push(act), now: () => ++now });
  for (const height of [1, 2, 3]) looker.look({ ...SCENE.camera, height }, height < 3);
  frames.shift()?.();
  looker.look({ ...SCENE.camera, height: 4 }, true);
  frames.shift()?.();
  expect(sent.map((one) => [one.camera.height, one.is_moving, one.sent_at_ms])).toEqual([[3, false, 1], [4, true, 2]]);
  expect(frames).toEqual([]);
});

it("sends the last cross-hair of each animation frame", () => {
  const frames: (() => void)[] = [];
  const sent: unknown[] = [];
  const cutter = new Cutter((message) => sent.push(message.voxel) > 0, { frame: (act) => frames.push(act), now: () => 0 });
  cutter.cut({ type: "slices", voxel: [1, 1, 1] });
  cutter.cut({ type: "slices", voxel: [2, 2, 2] });
  frames.shift()?.();
  expect([sent, frames]).toEqual([[[2, 2, 2]], []]);
});
