// A request that failed. Here: the error with what to do about it, read from a reply. Not here: sending requests (requests.ts, agent/api.ts).

import type { ErrorBody } from "../protocol";

/** line: of a shading's source, else 0. */
export class RequestError extends Error {
  constructor(
    readonly what: string,
    readonly remedy: string,
    readonly line = 0,
  ) {
    super(what);
  }
}

/** The error in a reply of the viewer or the agent. */
export async function errorFrom(reply: Response, peer: string): Promise<RequestError> {
  try {
    const { what, remedy, line } = (await reply.json()) as Partial<ErrorBody>;
    if (what) return new RequestError(what, remedy ?? "", line ?? 0);
  } catch {
    // A reply that is not JSON has only its status.
  }
  return new RequestError(`The ${peer} replied with HTTP status ${reply.status}.`, `See the ${peer}'s log for details.`);
}
