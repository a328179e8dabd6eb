import { describe, expect, it } from "vitest";
import { FORM, requestOf } from "./network";

describe("requestOf", () => {
  it("leaves everything to the network at first", () => {
    expect(requestOf("/net.onnx", 2, FORM)).toEqual({ path: "/net.onnx", layer: 2, threshold: null, axes: null, halo: null, preprocess: [], postprocess: [] });
  });
  it("states what the user chose", () => {
    const request = requestOf("/net.onnx", 0, { axes: "bzyxc", before: "scale_range", after: "sigmoid", threshold: 0.3 });
    expect(request).toMatchObject({ axes: "bzyxc", preprocess: ["scale_range"], postprocess: ["sigmoid"], threshold: 0.3 });
  });
});
