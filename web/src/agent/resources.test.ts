import { expect, it } from "vitest";
import { parseBytes, parseResources, parseShape } from "./resources";

it.each([
  ["64GiB", 64 * 2 ** 30],
  ["1.5 m", 1.5 * 2 ** 20],
  ["1000", 1000],
])("%s is %s bytes", (text, bytes) => expect(parseBytes(text)).toBe(bytes));

it.each(["much", "1..2", "5 parsecs"])("refuses the size %s", (text) => expect(() => parseBytes(text)).toThrow(`Invalid memory size "${text}".`));

it("leaves out what is empty", () => {
  expect(parseResources({})).toEqual({ overrides: {} });
  expect(parseResources({ gpus: "0", memory: "2 KiB", time: "30", partition: "gpu" })).toEqual({ gpus: 0, memory_bytes: 2048, overrides: { partition: "gpu", time_limit_minutes: 30 } });
});

it("reads a shape however it is separated", () => expect([parseShape("1, 2,3"), parseShape("4x5 × 6"), parseShape("")]).toEqual([[1, 2, 3], [4, 5, 6], []]));
