import { expect, test } from "vitest";
import { reachOf } from "./ShareDialog";

test("the dialog says who can open a link", () => {
  expect(reachOf({ hostname: "3f2a.localhost", port: "8700" })).toContain("this computer only");
  expect(reachOf({ hostname: "3f2a.localhost", port: "8700" })).toContain("ssh -L 8700:localhost:8700");
  expect(reachOf({ hostname: "hub.beamline.example", port: "" })).toBe("Everyone who has the link and can reach hub.beamline.example can open it.");
});
