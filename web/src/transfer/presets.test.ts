import { describe, expect, it } from "vitest";
import { TRANSFER } from "../testing/examples";
import { forgetTransfer, keepTransfer, keptTransfers, SHAPES } from "./presets";

function storage(): Pick<Storage, "getItem" | "setItem"> {
  const held = new Map<string, string>();
  return { getItem: (key) => held.get(key) ?? null, setItem: (key, value) => void held.set(key, value) };
}


describe("presets", () => {
  it.each(SHAPES)("$name is ascending and from 0 to 1", ({ opacities }) => {
    expect(opacities.map(([at]) => at)).toEqual(opacities.map(([at]) => at).toSorted((a, b) => a - b));
    expect(opacities.flat().every((one) => one >= 0 && one <= 1)).toBe(true);
  });

  it("are kept, replaced and forgotten by name", () => {
    const browser = storage();
    keepTransfer(browser, { name: "bone", transfer: TRANSFER });
    keepTransfer(browser, { name: "bone", transfer: { ...TRANSFER, gamma: 2 } });
    expect(keptTransfers(browser).map((one) => [one.name, one.transfer.gamma])).toEqual([["bone", 2]]);
    expect(forgetTransfer(browser, "bone")).toEqual([]);
  });

  it("that cannot be read are none", () => expect(keptTransfers({ getItem: () => "{" })).toEqual([]));
});
