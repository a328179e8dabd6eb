// The user's files. Here: the listing of a folder, selecting, uploading. Not here: what is done with the selection (SelectionPane.tsx).

import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { Icon } from "../components/Icon";
import { binaryBytes } from "../geometry/measures";
import { useAgent } from "./context";
import { formatTime } from "./jobs";
import type { FileEntry, FolderListing } from "./protocol";
import { SelectionPane } from "./SelectionPane";

interface Upload {
  name: string;
  fraction: number;
}

/** endedTasks: how many tasks are over; each may have written files. */
export function FilesPane({ endedTasks }: { endedTasks: number }): ReactNode {
  const { api, attempt } = useAgent();
  const [folder, setFolder] = useState<FolderListing | null>(null);
  const [selected, setSelected] = useState<readonly FileEntry[]>([]);
  const [upload, setUpload] = useState<Upload | null>(null);
  const [uploadCount, setUploadCount] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const enter = useCallback(
    (path: string) =>
      attempt(async () => {
        setFolder(await api.listFolder(path));
        setSelected([]);
      }),
    [api, attempt],
  );
  useEffect(() => void enter(""), [enter]);
  const path = folder?.path;
  // Tasks and uploads leave files behind. The selection stays, and so does an error that is shown.
  useEffect(() => {
    if (path === undefined || endedTasks + uploadCount === 0) return undefined;
    let isWanted = true;
    api.listFolder(path).then(
      (found) => (isWanted ? setFolder(found) : undefined),
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [api, path, endedTasks, uploadCount]);
  const toggle = (entry: FileEntry, isOn: boolean): void => setSelected((now) => [...now.filter((one) => one.path !== entry.path), ...(isOn ? [entry] : [])]);
  const uploadAll = (files: readonly File[]): Promise<void> =>
    attempt(async () => {
      if (!folder) return;
      try {
        for (const file of files) {
          setUpload({ name: file.name, fraction: 0 });
          await api.upload(folder.path, file, (fraction) => setUpload({ name: file.name, fraction }));
        }
      } finally {
        setUpload(null);
        setUploadCount((count) => count + 1);
      }
    });
  const up: FileEntry | null = folder && folder.parent !== null ? { name: "..", path: folder.parent, kind: "folder", size: null, changed_at: 0 } : null;
  return (
    <section
      className="agent-pane"
      aria-label="Files"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        if (folder?.can_write) void uploadAll([...event.dataTransfer.files]);
      }}
    >
      <div className="agent-bar">
        <nav className="agent-path" aria-label="Folder">
          {folder?.path ? <Crumbs folder={folder} onEnter={enter} /> : <h2>Files</h2>}
        </nav>
        {folder?.can_write ? (
          <label className="button" id="upload">
            Upload
            <input
              type="file"
              multiple
              hidden
              onChange={(event) => {
                const input = event.currentTarget;
                void uploadAll([...(input.files ?? [])]).finally(() => (input.value = ""));
              }}
            />
          </label>
        ) : null}
      </div>
      <ul id="entries" ref={list} className={selected.length > 0 ? "agent-entries scrolls has-selection" : "agent-entries scrolls"}>
        {up ? <EntryRow entry={up} isSelected={false} onOpen={() => void enter(up.path)} /> : null}
        {folder?.entries.map((entry) => (
          <EntryRow
            key={entry.path}
            entry={entry}
            isSelected={selected.some((one) => one.path === entry.path)}
            onOpen={(isAdded) => (entry.kind === "folder" ? void enter(entry.path) : isAdded ? toggle(entry, true) : setSelected([entry]))}
            onToggle={entry.kind === "folder" ? undefined : (isOn) => toggle(entry, isOn)}
          />
        ))}
        {folder?.is_cut ? <li className="hint agent-more">Only the first {folder.entries.length} entries are shown.</li> : null}
        {folder && folder.entries.length === 0 ? <li className="hint agent-more">This folder is empty.</li> : null}
      </ul>
      <div id="chosen" className="agent-selection" aria-live="polite">
        {upload ? (
          <>
            <p className="hint">Uploading {upload.name}…</p>
            <progress value={upload.fraction} aria-label={`Uploading ${upload.name}`} />
          </>
        ) : null}
        <SelectionPane selected={selected.length === 0 && folder ? ownEntry(folder) : selected} onRead={() => list.current?.querySelector(".is-selected")?.scrollIntoView({ block: "nearest" })} />
      </div>
    </section>
  );
}

/** A folder whose files are one scan, or one volume, as what is selected in it while nothing else is. */
function ownEntry({ path, is_scan, is_stack }: FolderListing): readonly FileEntry[] {
  return is_scan || is_stack ? [{ name: path.slice(path.lastIndexOf("/") + 1), path, kind: "volume", size: null, changed_at: 0 }] : [];
}

/** From the root on: folders above it cannot be opened. */
function Crumbs({ folder, onEnter }: { folder: FolderListing; onEnter: (path: string) => void }): ReactNode {
  const inner = folder.path.slice(folder.root.length).split("/").filter(Boolean);
  const top = folder.root.split("/").filter(Boolean).at(-1) ?? "/";
  const base = folder.root.replace(/\/$/, "");
  const steps = [{ name: top, path: folder.root }, ...inner.map((name, depth) => ({ name, path: `${base}/${inner.slice(0, depth + 1).join("/")}` }))];
  return steps.map(({ name, path }) => (
    <Button key={path} look="plain" onClick={() => onEnter(path)}>
      {name}
    </Button>
  ));
}

interface EntryRowProps {
  entry: FileEntry;
  isSelected: boolean;
  /** isAdded: to what is selected already. */
  onOpen: (isAdded: boolean) => void;
  /** Absent if it cannot be selected. */
  onToggle?: ((isOn: boolean) => void) | undefined;
}

function EntryRow({ entry, isSelected, onOpen, onToggle }: EntryRowProps): ReactNode {
  return (
    <li className={isSelected ? "agent-entry is-selected" : "agent-entry"}>
      {onToggle ? <input type="checkbox" aria-label={`Select ${entry.name}`} checked={isSelected} onChange={(event) => onToggle(event.currentTarget.checked)} /> : <span />}
      <button type="button" className={`agent-name is-${entry.kind}`} title={entry.path} onClick={(event) => onOpen(event.ctrlKey || event.metaKey)}>
        <Icon name={entry.kind} />
        <span>{entry.name}</span>
      </button>
      <span className="hint number">{entry.size === null ? "" : binaryBytes(entry.size)}</span>
      <span className="hint number">{entry.changed_at ? formatTime(entry.changed_at) : ""}</span>
    </li>
  );
}
