import { describe, expect, it } from "vitest";
import { pythonLine } from "./StartPage";

describe("the line of Python", () => {
  it("has the address of the page, without secrets", () => {
    expect(pythonLine("http://p1.localhost:4000/viewers/7/?a=b#code=secret")).toBe('import pellucid; pellucid.connect("http://p1.localhost:4000/viewers/7/").render_volume(array)');
  });
});
