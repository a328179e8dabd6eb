import { describe, expect, it } from "vitest";
import type { ShowSlices, SliceView } from "../protocol";
import { SliceViewSender } from "./sliceViewSender";

const view = (axis: "z" | "y", width: number): SliceView => ({ axis, width, height: 10, region: [0, 0, 1, 1], view: "main" });

describe("the slices that are shown", () => {
  it("are sent once per frame, all of them", () => {
    const sent: ShowSlices[] = [];
    const frames: (() => void)[] = [];
    const sender = new SliceViewSender((message) => sent.push(message) > 0, { frame: (act) => frames.push(act) });
    sender.show(view("z", 20));
    sender.show(view("y", 30));
    sender.show(view("z", 40));
    expect(frames).toHaveLength(1);
    frames[0]?.();
    sender.hide("main", "y");
    frames[1]?.();
    expect(sent.map(({ views }) => views.map(({ axis, width }) => [axis, width]))).toEqual([[["z", 40], ["y", 30]], [["z", 40]]]);
  });

  it("are no larger than the instance accepts", () => {
    const sent: ShowSlices[] = [];
    const sender = new SliceViewSender((message) => sent.push(message) > 0, { frame: (act) => (act(), 0) });
    sender.show({ ...view("z", 8192), height: 100 });
    expect(sent[0]?.views[0]).toMatchObject({ width: 4096, height: 50 });
  });
});
