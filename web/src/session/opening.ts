// Opening files: those the instance sees, and those of the person's own machine.

import { bytes } from "../geometry/measures";
import { load, upload } from "../line/requests";
import type { LoadRequest } from "../protocol";
import { LARGEST_UPLOAD_BYTES } from "../protocol";
import type { Session } from "./session";

export async function opened(session: Session, request: LoadRequest): Promise<void> {
  if (await session.attempt(load(request))) session.page({ drawer: "none", editedView: "main" });
}

/** Go from a scan to its volume. */
export function reconstruct(session: Session, scan: string): void {
  session.page({ drawer: "none", scan });
}

export async function uploaded(session: Session, file: File, how: LoadRequest["how"] = "replace"): Promise<void> {
  const most = session.store.get().welcome?.limits.largest_upload_bytes ?? LARGEST_UPLOAD_BYTES;
  if (file.size > most) {
    session.notify("error", `${file.name} has ${bytes(file.size)}: too much to send.`, "Put it where the viewer can see it, and open it from there.");
    return;
  }
  const dismiss = session.notify("plain", `Sending ${file.name} (${bytes(file.size)})…`);
  const place = await session.attempt(upload(file));
  dismiss();
  if (place) await opened(session, { path: place.path, ...(how ? { how } : {}) });
}
