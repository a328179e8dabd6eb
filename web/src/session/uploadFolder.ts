// Folders from the user's own machine: a stack of TIFF files, a Zarr array, a scan. Here: what is in one, uploading it, opening it. Not here: single files (openFile).

import { factsOf, listFolder, uploadInto } from "../connection/requests";
import { bytes } from "../geometry/measures";
import { MAX_UPLOAD_BYTES } from "../protocol";
import type { FileFacts, LoadRequest } from "../protocol";
import { openFile, reconstruct } from "./openFile";
import type { Session } from "./session";

/** A file of a folder, and its path that begins with the name of the folder. */
export interface FolderFile {
  path: string;
  file: File;
}

/** How many files are on their way at the same time. */
const AT_ONCE = 4;

export const totalBytes = (files: readonly FolderFile[]): number => files.reduce((sum, { file }) => sum + file.size, 0);

/** Ask for a folder; nothing when none was chosen. */
export function chooseFolder(): Promise<FolderFile[]> {
  const input = document.createElement("input");
  input.type = "file";
  input.webkitdirectory = true;
  return new Promise((resolve) => {
    input.addEventListener("change", () => resolve([...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath, file }))));
    input.addEventListener("cancel", () => resolve([]));
    input.click();
  });
}

/** All files of a folder that was dropped, whatever folders they are in. */
export async function filesOf(entry: FileSystemEntry, above = ""): Promise<FolderFile[]> {
  const path = above + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ path, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: FolderFile[] = [];
  for (;;) {
    // The browser gives a part of the entries at a time.
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return found;
    for (const inner of entries) found.push(...(await filesOf(inner, `${path}/`)));
  }
}

export async function uploadFolder(session: Session, files: readonly FolderFile[], how: LoadRequest["how"] = "replace"): Promise<void> {
  const name = files[0]?.path.split("/")[0];
  if (name === undefined) return;
  const most = session.store.get().welcome?.limits.max_upload_bytes ?? MAX_UPLOAD_BYTES;
  const size = totalBytes(files);
  if (size > most) {
    session.notify("error", `${name} (${bytes(size)}) is too large to upload: the limit is ${bytes(most)}.`, "Copy it to a folder that the viewer can open.");
    return;
  }
  const dismiss = session.notify("plain", `Uploading ${name} (${files.length} files, ${bytes(size)})…`);
  const folder = await session.attempt(send(files)).finally(dismiss);
  if (folder) await openFolder(session, folder, how);
}

/** Send all files; the folder where they are now. */
async function send(files: readonly FolderFile[]): Promise<string> {
  const id = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const left = [...files];
  let folder = "";
  const worker = async (): Promise<void> => {
    for (let next = left.pop(); next; next = left.pop()) {
      const { path } = await uploadInto(id, next.path, next.file);
      folder = path.split("/").slice(0, 1 - next.path.split("/").length).join("/");
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return folder;
}

/** A scan opens the workbench, a stack or an array is shown, and any other folder is listed. */
async function openFolder(session: Session, folder: string, how: LoadRequest["how"]): Promise<void> {
  const listed = await session.attempt(listFolder(folder, ""));
  const facts = listed?.is_scan ? null : await factsOf(folder).catch((): FileFacts | null => null);
  if (listed?.is_scan || facts?.is_scan) reconstruct(session, folder);
  else if (listed?.is_stack || (facts?.shape && facts.problem === "")) await openFile(session, { path: folder, ...(how ? { how } : {}) });
  else session.page({ drawer: "files", chosenFile: null, folder });
}
