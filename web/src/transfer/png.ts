// The scene in a PNG that Pellucid saved. Not here: writing it (the instance does).

const KEY = "pellucid:scene";
const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** The text of its scene, as JSON; null where there is none. */
export function sceneInPng(content: ArrayBuffer): string | null {
  const bytes = new Uint8Array(content);
  const view = new DataView(content);
  if (SIGNATURE.some((byte, at) => bytes[at] !== byte)) return null;
  for (let at = SIGNATURE.length; at + 12 <= bytes.length; ) {
    const length = view.getUint32(at);
    const kind = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const chunk = bytes.subarray(at + 8, at + 8 + length);
    if (kind === "iTXt") {
      const text = textOf(chunk);
      if (text !== null) return text;
    }
    at += 12 + length;
  }
  return null;
}

/** Of a chunk with our keyword, which is not compressed: keyword, 0, two flags, language, 0, translated keyword, 0, text. */
function textOf(chunk: Uint8Array): string | null {
  const decoder = new TextDecoder();
  const end = chunk.indexOf(0);
  if (end < 0 || decoder.decode(chunk.subarray(0, end)) !== KEY || chunk[end + 1] !== 0) return null;
  const language = chunk.indexOf(0, end + 3);
  const keyword = chunk.indexOf(0, language + 1);
  return language < 0 || keyword < 0 ? null : decoder.decode(chunk.subarray(keyword + 1));
}
