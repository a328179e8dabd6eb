// Replies of a server that has not proved itself yet. Here: reading one up to a length. Not here: who sends it (pageSession.ts).
//
// Another user of this machine may have taken over the port, and could send without end.

const MAX_BYTES = 64 * 1024;

/** The JSON of a reply; a longer one is an error, and is not read further. */
export async function readShort(reply: Response): Promise<unknown> {
  const reader = reply.body?.getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    length += next.value.length;
    if (length > MAX_BYTES) {
      await reader?.cancel();
      throw new Error("The reply is too long.");
    }
    pieces.push(next.value);
  }
  return JSON.parse(await new Blob(pieces as BlobPart[]).text()) as unknown;
}
