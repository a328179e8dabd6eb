// Opening files: on the instance's machine, and from the user's own machine.

import { bytes } from "../geometry/measures";
import { factsOf, load, restore, upload } from "../connection/requests";
import { sceneInPng } from "../transfer/png";
import type { Json, LoadRequest } from "../protocol";
import { MAX_UPLOAD_BYTES } from "../protocol";
import type { Session } from "./session";

const MAYBE_HEADERLESS = /\.(raw|bin|dat|vol)$/i;

/** What this page is opening now. Opened again meanwhile, it would be loaded twice, and undone in two steps. */
const opening = new Set<string>();

export async function openFile(session: Session, request: LoadRequest): Promise<void> {
  const key = JSON.stringify(request);
  if (opening.has(key)) return;
  opening.add(key);
  const loaded = await session.attempt(load(request)).finally(() => opening.delete(key));
  if (!loaded) return;
  session.page({ drawer: "none", chosenFile: null, editedView: "main" });
  if (loaded.warning) session.notify("error", loaded.warning, loaded.remedy);
}

/** Open the workbench for a scan. */
export function reconstruct(session: Session, scan: string): void {
  session.page({ drawer: "none", scan });
}

export async function uploadFile(session: Session, file: File, how: LoadRequest["how"] = "replace"): Promise<void> {
  const scene = file.type === "image/png" ? sceneInPng(await file.arrayBuffer()) : null;
  if (scene !== null) {
    const { version, ...rest } = JSON.parse(scene) as { version: number } & Record<string, Json>;
    await session.attempt(restore({ version: 1, scene: { version, ...rest }, other: null, shadings: {}, cross_hair: null }));
    return;
  }
  const most = session.store.get().welcome?.limits.max_upload_bytes ?? MAX_UPLOAD_BYTES;
  if (file.size > most) {
    session.notify("error", `${file.name} (${bytes(file.size)}) is too large to upload: the limit is ${bytes(most)}.`, "Copy it to a folder that the viewer can open.");
    return;
  }
  const dismiss = session.notify("plain", `Uploading ${file.name} (${bytes(file.size)})…`);
  const place = await session.attempt(upload(file));
  dismiss();
  if (!place) return;
  const facts = MAYBE_HEADERLESS.test(file.name) ? await session.attempt(factsOf(place.path)) : null;
  if (facts?.is_headerless && facts.problem) {
    // Its shape and type have to be given first.
    session.page({ drawer: "files", chosenFile: { name: file.name, path: place.path, kind: "volume", bytes: file.size, modified_at_ms: file.lastModified } });
  } else await openFile(session, { path: place.path, ...(how ? { how } : {}) });
}
