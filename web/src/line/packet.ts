// A picture as it arrives: four bytes with the length of the header (little-endian), the header as JSON, the picture.

import type { FrameHeader, SliceHeader } from "../protocol";

export interface Packet {
  header: FrameHeader | SliceHeader;
  picture: Uint8Array<ArrayBuffer>;
}

const LENGTH_BYTES = 4;

export function unpack(message: ArrayBuffer): Packet {
  const length = new DataView(message).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(message, LENGTH_BYTES, length));
  return { header: JSON.parse(text) as Packet["header"], picture: new Uint8Array(message, LENGTH_BYTES + length) };
}
