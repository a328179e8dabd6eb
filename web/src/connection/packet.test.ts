import { expect, it } from "vitest";
import { unpack } from "./packet";

it("unpacks header and image", () => {
  const header = new TextEncoder().encode(JSON.stringify({ type: "slice", axis: "z", unit: "µm" }));
  const message = new Uint8Array(4 + header.length + 3);
  new DataView(message.buffer).setUint32(0, header.length, true);
  message.set(header, 4);
  message.set([7, 8, 9], 4 + header.length);
  const packet = unpack(message.buffer);
  expect(packet.header).toEqual({ type: "slice", axis: "z", unit: "µm" });
  expect([...packet.image]).toEqual([7, 8, 9]);
});
