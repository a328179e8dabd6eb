// Files that can be opened. Here: folders, search, facts of a file before it is opened. Not here: reading them (the instance).

import { useEffect, useState, type ReactNode } from "react";
import { bytes } from "../geometry/measures";
import { factsOf, listFolder, RequestRefused } from "../line/requests";
import { Button, IconButton } from "../parts/Button";
import { Icon, type IconName } from "../parts/Icon";
import { choose } from "../parts/files";
import type { Entry, FileFacts, Folder, LoadRequest } from "../protocol";
import { opened, reconstruct, uploaded } from "../session/opening";
import { useSession } from "../session/session";
import type { PageState } from "../state/state";
import { useSelect } from "../state/store";

const SEARCH_PAUSE_MS = 250;
const ICONS: Record<Entry["kind"], IconName> = { folder: "folder", volume: "volume", points: "points", mesh: "mesh" };

export function FileBrowser(): ReactNode {
  const session = useSession();
  const [place, setPlace] = useState(() => firstPlace(session.store.get()));
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState<Entry | null>(null);
  const { folder, problem } = useFolder(place, search);
  const enter = (path: string): void => {
    setPlace(path);
    setSearch("");
    setChosen(null);
  };
  return (
    <aside className="drawer pane grows" aria-label="Files">
      <header className="drawer-head">
        <h2>Open</h2>
        <Button icon="upload" look="plain" onClick={() => void choose("").then((file) => (file ? uploaded(session, file) : undefined))}>
          From this computer
        </Button>
        <IconButton icon="close" label="Close" onClick={() => session.page({ drawer: "none" })} />
      </header>
      <div className="drawer-tools">
        <label className="search">
          <Icon name="search" />
          <input
            className="field"
            type="search"
            placeholder="Search in this folder and below"
            aria-label="Search"
            value={search}
            onKeyDown={(event) => event.stopPropagation()}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
        <Crumbs folder={folder} onEnter={enter} />
      </div>
      <div className="drawer-list scrolls">
        {problem ? <Problem problem={problem} /> : null}
        {folder?.is_scan ? <ScanFolder path={folder.path} /> : null}
        {folder && folder.entries.length === 0 ? <p className="empty hint">{search ? "Nothing is called that." : "There is nothing here that can be opened."}</p> : null}
        <ul>
          {folder?.entries.map((entry) => (
            <FileRow
              key={entry.path}
              entry={entry}
              isChosen={entry.path === chosen?.path}
              onChoose={() => (entry.kind === "folder" ? enter(entry.path) : setChosen(entry))}
              onOpen={() => void opened(session, { path: entry.path, how: "replace" })}
            />
          ))}
        </ul>
        {folder?.is_cut ? <p className="empty hint">There is more: search for a part of the name.</p> : null}
      </div>
      {chosen ? <Facts entry={chosen} /> : null}
    </aside>
  );
}

/** Where what is open lies, else the first place there is. */
function firstPlace({ server, welcome }: PageState): string {
  const roots = welcome?.roots ?? [];
  const source = server?.scene.volumes[0]?.source ?? "";
  const folder = source.slice(0, Math.max(source.lastIndexOf("/"), 0));
  return roots.some((root) => folder === root || folder.startsWith(`${root}/`)) ? folder : (roots[0] ?? "");
}

interface Listing {
  folder: Folder | null;
  problem: RequestRefused | null;
}

function useFolder(place: string, search: string): Listing {
  const [listing, setListing] = useState<Listing>({ folder: null, problem: null });
  useEffect(() => {
    let isWanted = true;
    const timer = setTimeout(
      () => {
        listFolder(place, search).then(
          (folder) => (isWanted ? setListing({ folder, problem: null }) : undefined),
          (error: unknown) => (isWanted && error instanceof RequestRefused ? setListing({ folder: null, problem: error }) : undefined),
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
      <button type="button" onClick={() => onEnter("")}>
        <Icon name="home" />
        <span className="unseen">All places</span>
      </button>
      {root ? (
        <button type="button" onClick={() => onEnter(root)}>
          {root.split("/").filter(Boolean).at(-1) ?? root}
        </button>
      ) : null}
      {inner.map((part, depth) => (
        <button key={inner.slice(0, depth + 1).join("/")} type="button" onClick={() => onEnter(`${root}/${inner.slice(0, depth + 1).join("/")}`)}>
          {part}
        </button>
      ))}
    </nav>
  );
}

interface FileRowProps {
  entry: Entry;
  isChosen: boolean;
  onChoose: () => void;
  onOpen: () => void;
}

function FileRow({ entry, isChosen, onChoose, onOpen }: FileRowProps): ReactNode {
  return (
    <li>
      <button type="button" className={`file is-${entry.kind}`} aria-pressed={isChosen} onClick={onChoose} onDoubleClick={entry.kind === "folder" ? undefined : onOpen}>
        <Icon name={ICONS[entry.kind]} />
        <span className="file-name" title={entry.path}>
          {entry.name}
        </span>
        <span className="hint number">{entry.bytes === null ? "" : bytes(entry.bytes)}</span>
      </button>
    </li>
  );
}

function Facts({ entry }: { entry: Entry }): ReactNode {
  const session = useSession();
  const hasVolume = useSelect((state) => (state.server?.scene.volumes.length ?? 0) > 0);
  const [dataset, setDataset] = useState("");
  const isVolume = entry.kind === "volume";
  // Facts are told of volumes; points and meshes are opened to see what they are.
  const { facts, problem } = useFacts(isVolume ? (dataset ? `${entry.path}:${dataset}` : entry.path) : "");
  const path = dataset ? `${entry.path}:${dataset}` : entry.path;
  const open = (how: NonNullable<LoadRequest["how"]>): void => void opened(session, { path, how });
  if (facts?.is_scan) return <ScanFacts entry={entry} facts={facts} />;
  const isOpenable = !isVolume || (problem === null && facts?.problem === "");
  return (
    <div className="facts">
      <h3 title={entry.path}>{entry.name}</h3>
      {problem ? <Problem problem={problem} /> : null}
      {facts ? <FactLines facts={facts} /> : problem || !isVolume ? null : <p className="hint">looking…</p>}
      {facts && facts.datasets.length > 1 ? (
        <select className="field" aria-label="Dataset" value={dataset} onChange={(event) => setDataset(event.currentTarget.value)}>
          <option value="">Choose what to open…</option>
          {facts.datasets.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      ) : null}
      <div className="row">
        <Button look="main" isDisabled={!isOpenable} onClick={() => open("replace")}>
          Open
        </Button>
        <Button isDisabled={!isOpenable} onClick={() => open("add")}>
          Add as a layer
        </Button>
        {isVolume && hasVolume ? (
          <Button isDisabled={!isOpenable} onClick={() => open("labels")}>
            As labels
          </Button>
        ) : null}
      </div>
    </div>
  );
}

function ScanFacts({ entry, facts }: { entry: Entry; facts: FileFacts }): ReactNode {
  const session = useSession();
  const [views, rows, columns] = facts.shape ?? [0, 0, 0];
  return (
    <div className="facts">
      <h3 title={entry.path}>{entry.name}</h3>
      <p className="hint number">{facts.shape ? `scan · ${views} views · ${columns} × ${rows} · ${facts.dtype}` : "scan that does not say everything"}</p>
      <div className="row">
        <Button look="main" onClick={() => reconstruct(session, entry.path)}>
          Reconstruct
        </Button>
        {facts.shape ? <Button onClick={() => void opened(session, { path: entry.path, how: "replace" })}>Open the projections</Button> : null}
      </div>
    </div>
  );
}

function ScanFolder({ path }: { path: string }): ReactNode {
  const session = useSession();
  return (
    <div className="row card">
      <span className="label">The files here are a scan.</span>
      <Button look="main" onClick={() => reconstruct(session, path)}>
        Reconstruct
      </Button>
    </div>
  );
}

function useFacts(path: string): { facts: FileFacts | null; problem: RequestRefused | null } {
  const [known, setKnown] = useState<{ path: string; facts: FileFacts | null; problem: RequestRefused | null }>({ path: "", facts: null, problem: null });
  useEffect(() => {
    if (path === "") return undefined;
    let isWanted = true;
    factsOf(path).then(
      (facts) => (isWanted ? setKnown({ path, facts, problem: null }) : undefined),
      (error: unknown) => (isWanted && error instanceof RequestRefused ? setKnown({ path, facts: null, problem: error }) : undefined),
    );
    return () => {
      isWanted = false;
    };
  }, [path]);
  return known.path === path ? known : { facts: null, problem: null };
}

function FactLines({ facts }: { facts: FileFacts }): ReactNode {
  if (facts.problem) return <p className="is-bad">{facts.problem}</p>;
  const [z, y, x] = facts.shape ?? [0, 0, 0];
  const more = [facts.levels > 1 ? `${facts.levels} levels` : "", facts.times > 1 ? `${facts.times} time steps` : "", facts.channels > 1 ? `${facts.channels} channels` : ""];
  return (
    <p className="hint number">
      {facts.shape ? `${x} × ${y} × ${z} · ${facts.dtype} · ` : ""}
      {[bytes(facts.bytes), ...more].filter(Boolean).join(" · ")}
    </p>
  );
}

function Problem({ problem }: { problem: RequestRefused }): ReactNode {
  return (
    <div className="empty">
      <p className="is-bad">{problem.what}</p>
      <p className="hint">{problem.remedy}</p>
    </div>
  );
}
