// What the owner sees while nothing is open: files, recent files, a sample, a scan to reconstruct, a line of Python.
// Here: their arrangement, recent files. Not here: browsing files (FileBrowser), dropping them (DropZone).

import { useEffect, useState, type ReactNode } from "react";
import { Button, IconButton } from "../components/Button";
import { Icon } from "../components/Icon";
import { clearRecentFiles, recentFiles, showSample } from "../connection/requests";
import { RequestError } from "../connection/requestError";
import { FileBrowser } from "../panels/FileBrowser";
import type { RecentFiles } from "../protocol";
import { openFile } from "../session/openFile";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";
import { Mark } from "./Mark";

const COPIED_MS = 1500;
const NO_FILES: RecentFiles = { files: [], folder: "" };

export function StartPage(): ReactNode {
  const session = useSession();
  const [recent, setRecent] = useRecentFiles();
  const isLoading = useSelect((state) => state.worker?.state === "loading");
  const isForScans = useSelect((state) => state.interface.drawer === "scans");
  const forget = async (): Promise<void> => {
    if (await session.attempt(clearRecentFiles())) setRecent(NO_FILES);
  };
  return (
    <div className="loading-screen start-page scrolls">
      <div className="start-body grows">
        <header className="start-head">
          <Mark isBusy={isLoading} />
          <div>
            <p>{isLoading ? "Loading the volume" : "Nothing is open."}</p>
            <p className="hint">Open a file, drop one here, or send an array from Python.</p>
          </div>
        </header>
        {/* Its first folder is known once the recent files are. */}
        {recent ? <FileBrowser isInline folder={recent.folder} /> : <aside className="drawer is-inline pane" />}
        <div className="start-side">
          {recent && recent.files.length > 0 ? (
            <section className="start-section" aria-label="Recent files">
              <div className="row">
                <h2 className="label">Recent files</h2>
                <IconButton icon="trash" label="Clear recent files" onClick={() => void forget()} />
              </div>
              <RecentList recent={recent} />
            </section>
          ) : null}
          <section className="start-section" aria-label="Start">
            <div className="row wraps">
              <Button icon="volume" isDisabled={isLoading} onClick={() => void session.attempt(showSample())}>
                Try a sample
              </Button>
              <Button icon="slices" isOn={isForScans} onClick={() => session.page({ drawer: isForScans ? "files" : "scans", chosenFile: null })}>
                Reconstruct a scan
              </Button>
            </div>
            <SendFromPython />
          </section>
        </div>
      </div>
    </div>
  );
}

function RecentList({ recent }: { recent: RecentFiles }): ReactNode {
  const session = useSession();
  return (
    <ul className="recent-files">
      {recent.files.map((file) => (
        <li key={file.path}>
          <button type="button" title={file.path} onClick={(event) => (event.detail > 1 ? undefined : void openFile(session, { path: file.path, how: "replace" }))}>
            {file.thumbnail ? <img src={file.thumbnail} alt="" /> : <Icon name="volume" />}
            <span className="file-name">{file.name}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function SendFromPython(): ReactNode {
  const [isCopied, setCopied] = useState(false);
  const line = pythonLine(location.href);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(line);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <div className="stack">
      <div className="row">
        <h2 className="label">Send from Python</h2>
        {navigator.clipboard ? <Button onClick={() => void copy()}>{isCopied ? "Copied" : "Copy"}</Button> : null}
      </div>
      <code className="start-code">{line}</code>
    </div>
  );
}

/** Shows an array in the viewer at an address, from a program of the same user. */
export const pythonLine = (address: string): string => `import pellucid; pellucid.connect("${address.replace(/[?#].*$/, "")}").render_volume(array)`;

/** null until they are known. */
function useRecentFiles(): [RecentFiles | null, (files: RecentFiles) => void] {
  const [recent, setRecent] = useState<RecentFiles | null>(null);
  useEffect(() => {
    let isWanted = true;
    const onFound = (found: RecentFiles): void => (isWanted ? setRecent(found) : undefined);
    recentFiles().then(onFound, (error: unknown) => {
      if (!(error instanceof RequestError)) throw error;
      onFound(NO_FILES);
    });
    return () => {
      isWanted = false;
    };
  }, []);
  return [recent, setRecent];
}
