import { expect, it } from "vitest";
import type { SetCamera } from "../protocol";
import { SCENE } from "../testing/examples";
import { SliceSender, CameraSender } from "./cameraSender";

it("sends the last camera of each animation frame, with the time of the first input", () => {
  const frames: (() => void)[] = [];
  const sent: SetCamera[] = [];
  let now = 0;
  const cameraSender = new CameraSender((look) => sent.push(look) > 0, { frame: (act) => frames.push(act), now: () => ++now });
  for (const height of [1, 2, 3]) cameraSender.look({ ...SCENE.camera, height }, height < 3);
  frames.shift()?.();
  cameraSender.look({ ...SCENE.camera, height: 4 }, true);
  frames.shift()?.();
  expect(sent.map((one) => [one.camera.height, one.is_moving, one.sent_at_ms])).toEqual([[3, false, 1], [4, true, 2]]);
  expect(frames).toEqual([]);
});

it("sends the last cross-hair of each animation frame", () => {
  const frames: (() => void)[] = [];
  const sent: unknown[] = [];
  const sliceSender = new SliceSender((message) => sent.push(message.voxel) > 0, { frame: (act) => frames.push(act), now: () => 0 });
  sliceSender.cut({ type: "slices", voxel: [1, 1, 1] });
  sliceSender.cut({ type: "slices", voxel: [2, 2, 2] });
  frames.shift()?.();
  expect([sent, frames]).toEqual([[[2, 2, 2]], []]);
});
