import { describe, expect, it } from "vitest";
import { SCENE } from "../testing/examples";
import { changed, merged } from "./scene";

describe("changes of a scene", () => {
  it("replace a place and share the rest", () => {
    const next = changed(SCENE, { path: ["volumes", 0, "transfer", "value_range"], value: [3, 9] });
    expect(next.volumes[0]?.transfer.value_range).toEqual([3, 9]);
    expect(next.light).toBe(SCENE.light);
    expect(SCENE.volumes[0]?.transfer.value_range).toEqual([0, 255]);
  });

  it("add to a list, and take away from it", () => {
    const plane = { normal: [1, 0, 0], offset: 2 };
    const more = changed(SCENE, { path: ["planes", 0], value: plane });
    expect(more.planes).toEqual([plane]);
    expect(changed(more, { path: ["planes", 0], value: null }).planes).toEqual([]);
  });

  it("set an optional place to nothing", () => {
    expect(changed(SCENE, { path: ["volumes", 0, "clip"], value: null }).volumes[0]?.clip).toBeNull();
  });

  it("refuse a place that is none", () => expect(() => changed(SCENE, { path: [0], value: 1 })).toThrow("no place"));

  it("of the same place make earlier ones pointless", () => {
    const first = { path: ["light", "ambient"], value: 0.1 };
    const other = { path: ["step"], value: 1 };
    expect(merged([first, other], [{ path: ["light", "ambient"], value: 0.2 }])).toEqual([other, { path: ["light", "ambient"], value: 0.2 }]);
    expect(merged([first], [{ path: ["light"], value: {} }])).toHaveLength(1);
  });

  it("of lists stay in order", () => {
    const added = { path: ["planes", 0], value: {} };
    expect(merged([added], [{ path: ["planes", 0], value: null }])).toHaveLength(2);
  });
});
