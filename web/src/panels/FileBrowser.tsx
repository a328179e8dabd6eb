// Files that can be opened. Here: folders, search, a click that opens. Not here: facts of files (FileFacts), reading them (the instance).

import { useEffect, useRef, useState, type ReactNode } from "react";
import { bytes } from "../geometry/measures";
import { factsOf, listFolder } from "../connection/requests";
import { RequestError } from "../connection/requestError";
import { Button, IconButton } from "../components/Button";
import { Icon, type IconName } from "../components/Icon";
import { choose } from "../components/files";
import type { Entry, FileFacts, Folder } from "../protocol";
import { folderOf } from "../session/location";
import { openFile, reconstruct, uploadFile } from "../session/openFile";
import { chooseFolder, uploadFolder } from "../session/uploadFolder";
import { useSession } from "../session/session";
import type { PageState } from "../state/state";
import { useSelect } from "../state/store";
import { Facts, isPlain, Problem, shortly, useRowFacts } from "./FileFacts";

const SEARCH_PAUSE_MS = 250;
const ICONS: Record<Entry["kind"], IconName> = { folder: "folder", volume: "volume", points: "points", mesh: "mesh" };

interface FileBrowserProps {
  /** As a part of a page: it cannot be closed. */
  isInline?: boolean;
  /** The folder to begin with, where no other is known. */
  folder?: string;
}

export function FileBrowser({ isInline = false, folder: first = "" }: FileBrowserProps): ReactNode {
  const session = useSession();
  const isForScans = useSelect((state) => state.interface.drawer === "scans");
  const [place, setPlace] = useState(() => firstPlace(session.store.get(), first));
  const [search, setSearch] = useState("");
  // A folder that was uploaded is listed in the drawer that is open already.
  const wanted = useSelect((state) => state.interface.folder);
  const [followed, setFollowed] = useState(wanted);
  if (wanted !== followed) {
    setFollowed(wanted);
    if (wanted) setPlace(wanted);
  }
  const chosen = useSelect((state) => state.interface.chosenFile);
  const setChosen = (chosenFile: Entry | null): void => session.page({ chosenFile });
  const { folder, problem } = useFolder(place, search);
  const enter = (path: string): void => {
    setPlace(path);
    setSearch("");
    session.page({ chosenFile: null, folder: path });
  };
  const open = async (entry: Entry, known: FileFacts | null): Promise<void> => {
    const facts = known ?? (entry.kind === "volume" ? await session.attempt(factsOf(entry.path)) : null);
    if (isForScans ? entry.kind === "volume" : facts?.is_scan) reconstruct(session, entry.path);
    else if (entry.kind !== "volume" || (facts && isPlain(facts))) await openFile(session, { path: entry.path, how: "replace" });
    else setChosen(entry);
  };
  return (
    <aside className={isInline ? "drawer is-inline pane" : "drawer pane grows"} aria-label="Files">
      <header className="drawer-head">
        <h2>{isForScans ? "Choose a scan" : "Open"}</h2>
        <Button icon="upload" look="plain" onClick={() => void choose("").then((file) => (file ? uploadFile(session, file) : undefined))}>
          From this computer
        </Button>
        <Button icon="folder" look="plain" title="Upload a folder from this computer: a stack of TIFF files, a Zarr array, a scan" onClick={() => void chooseFolder().then((files) => uploadFolder(session, files))}>
          Folder
        </Button>
        {isInline ? null : <IconButton icon="close" label="Close" onClick={() => session.page({ drawer: "none", chosenFile: null })} />}
      </header>
      <div className="drawer-tools">
        <label className="search">
          <Icon name="search" />
          <input
            className="field"
            type="search"
            placeholder="Search this folder and its subfolders"
            aria-label="Search"
            title="Search this folder and its subfolders"
            value={search}
            onKeyDown={(event) => event.stopPropagation()}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
        <Crumbs folder={folder} onEnter={enter} />
      </div>
      <div className="drawer-list scrolls">
        {problem ? <Problem problem={problem} /> : null}
        {folder?.is_scan || (isForScans && folder?.path) ? <ScanFolder path={folder.path} isScan={folder.is_scan ?? false} /> : null}
        {folder?.is_stack ? <StackFolder path={folder.path} /> : null}
        {folder && folder.entries.length === 0 ? <p className="empty hint">{search ? "No file name matches." : "No files here can be opened."}</p> : null}
        <ul>
          {folder?.entries.map((entry) => (
            <FileRow
              key={entry.path}
              entry={entry}
              isChosen={entry.path === chosen?.path}
              onOpen={(facts) => (entry.kind === "folder" ? enter(entry.path) : void open(entry, facts))}
              onChoose={() => setChosen(entry)}
            />
          ))}
        </ul>
        {folder?.is_cut ? <p className="empty hint">Not all files are shown. Search for part of the name.</p> : null}
      </div>
      {chosen ? <Facts key={chosen.path} entry={chosen} /> : null}
    </aside>
  );
}

/** The folder that was browsed last, otherwise that of the open file, otherwise the first root. */
function firstPlace({ server, welcome, interface: page }: PageState, first: string): string {
  const roots = welcome?.roots ?? [];
  const isInside = (folder: string): boolean => roots.some((root) => folder === root || folder.startsWith(`${root}/`));
  const folders = [page.folder, folderOf(server?.scene.volumes[0]?.source ?? ""), first];
  return folders.find((folder) => folder && isInside(folder)) ?? roots[0] ?? "";
}

interface Listing {
  folder: Folder | null;
  problem: RequestError | null;
}

function useFolder(place: string, search: string): Listing {
  const [listing, setListing] = useState<Listing>({ folder: null, problem: null });
  useEffect(() => {
    let isWanted = true;
    const timer = setTimeout(
      () => {
        listFolder(place, search).then(
          (folder) => (isWanted ? setListing({ folder, problem: null }) : undefined),
          (error: unknown) => (isWanted && error instanceof RequestError ? setListing({ folder: null, problem: error }) : undefined),
        );
      },
      search ? SEARCH_PAUSE_MS : 0,
    );
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [place, search]);
  return listing;
}

function Crumbs({ folder, onEnter }: { folder: Folder | null; onEnter: (path: string) => void }): ReactNode {
  const roots = useSelect((state) => state.welcome?.roots ?? null);
  const root = roots?.find((one) => folder?.path.startsWith(one));
  const inner = root && folder ? folder.path.slice(root.length).split("/").filter(Boolean) : [];
  return (
    <nav className="crumbs" aria-label="Folder">
      <button type="button" title="All folders that may be opened" onClick={() => onEnter("")}>
        <Icon name="home" />
        <span className="unseen">All folders</span>
      </button>
      {root ? (
        <button type="button" title={root} onClick={() => onEnter(root)}>
          {root.split("/").filter(Boolean).at(-1) ?? root}
        </button>
      ) : null}
      {inner.map((part, depth) => (
        <button key={inner.slice(0, depth + 1).join("/")} type="button" title={`${root}/${inner.slice(0, depth + 1).join("/")}`} onClick={() => onEnter(`${root}/${inner.slice(0, depth + 1).join("/")}`)}>
          {part}
        </button>
      ))}
    </nav>
  );
}

interface FileRowProps {
  entry: Entry;
  isChosen: boolean;
  onOpen: (facts: FileFacts | null) => void;
  onChoose: () => void;
}

/** One click opens. The second one of a double click would open the file again, or what is there in the folder that the first one entered. */
function FileRow({ entry, isChosen, onOpen, onChoose }: FileRowProps): ReactNode {
  const row = useRef<HTMLLIElement>(null);
  const facts = useRowFacts(entry, row);
  return (
    <li ref={row} className={isChosen ? "file-row is-chosen" : "file-row"}>
      <button type="button" className={`file is-${entry.kind}`} title={entry.path} onClick={(event) => (event.detail > 1 ? undefined : onOpen(facts))}>
        <Icon name={ICONS[entry.kind]} />
        <span className="file-text">
          <span className="file-name" title={entry.path}>
            {entry.name}
          </span>
          {entry.kind === "folder" ? null : <span className="hint number">{inShort(entry, facts)}</span>}
        </span>
      </button>
      {entry.kind === "folder" ? null : <IconButton icon="dots" label="More options" isOn={isChosen} onClick={onChoose} />}
    </li>
  );
}

const inShort = (entry: Entry, facts: FileFacts | null): string =>
  [facts ? shortly(facts) : "", entry.bytes === null ? "" : bytes(entry.bytes)].filter(Boolean).join(" · ");

function ScanFolder({ path, isScan }: { path: string; isScan: boolean }): ReactNode {
  const session = useSession();
  return (
    <div className="row card">
      <span className="label">{isScan ? "These files are a scan." : "Choose a file, or use this folder."}</span>
      <Button look={isScan ? "main" : "normal"} onClick={() => reconstruct(session, path)}>
        Reconstruct
      </Button>
    </div>
  );
}

function StackFolder({ path }: { path: string }): ReactNode {
  const session = useSession();
  return (
    <div className="row card">
      <span className="label">These files are the slices of a volume.</span>
      <Button look="main" onClick={() => void openFile(session, { path, how: "replace" })}>
        Open the stack
      </Button>
    </div>
  );
}
