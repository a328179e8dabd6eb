// An image as it arrives: four bytes with the length of the header (little-endian), the header as JSON, the image.

import type { FrameHeader, SliceHeader } from "../protocol";

interface PacketOf<Header> {
  header: Header;
  image: Uint8Array<ArrayBuffer>;
}

export type Packet = PacketOf<FrameHeader | SliceHeader>;

const LENGTH_BYTES = 4;

export const unpack = (message: ArrayBuffer): Packet => unpackAs<Packet["header"]>(message);

export function unpackAs<Header>(message: ArrayBuffer): PacketOf<Header> {
  const length = new DataView(message).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(message, LENGTH_BYTES, length));
  return { header: JSON.parse(text) as Header, image: new Uint8Array(message, LENGTH_BYTES + length) };
}
