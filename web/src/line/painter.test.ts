import { expect, it } from "vitest";
import { ClockOffset } from "./painter";

it("takes the fastest message as the measure of the others", () => {
  const clock = new ClockOffset();
  clock.observe(5000, 105);
  expect(clock.wireMs(5100, 207)).toBe(2);
  expect(clock.wireMs(5200, 303)).toBe(0);
  expect(clock.wireMs(5300, 407)).toBe(4);
});
