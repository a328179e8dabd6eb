import { describe, expect, it } from "vitest";
import type { TransferFunction } from "../protocol";
import { fromParaView, NoColorMap, toParaView } from "./paraview";

const TRANSFER: TransferFunction = {
  edges: null,
  is_preintegrated: false,
  colors: [[0, [0, 0, 0]], [0.5, [1, 0.5, 0]], [1, [1, 1, 1]]],
  opacities: [[0, 0], [0.25, 0.5], [1, 1]],
  value_range: [100, 300],
  gamma: 1,
};

describe("ParaView's colour maps", () => {
  it("come back as they went", () => expect(fromParaView(toParaView(TRANSFER, "bone"), TRANSFER)).toEqual(TRANSFER));

  it("are written in values", () => {
    const [map] = JSON.parse(toParaView(TRANSFER, "bone")) as [{ RGBPoints: number[]; Points: number[]; Name: string }];
    expect(map.Name).toBe("bone");
    expect(map.RGBPoints.slice(4, 8)).toEqual([200, 1, 0.5, 0]);
    expect(map.Points.slice(4, 8)).toEqual([150, 0.5, 0.5, 0]);
  });

  it("without opacities keep the window", () => {
    const text = JSON.stringify([{ RGBPoints: [0, 0, 0, 1, 1, 1, 0, 0] }]);
    expect(fromParaView(text, TRANSFER)).toEqual({ ...TRANSFER, colors: [[0, [0, 0, 1]], [1, [1, 0, 0]]] });
  });

  it.each(["{", "[]", "[3]", '[{"RGBPoints": [1, 2, 3]}]'])("that are none (%s) are refused with a reason", (text) =>
    expect(() => fromParaView(text, TRANSFER)).toThrow(NoColorMap),
  );
});
