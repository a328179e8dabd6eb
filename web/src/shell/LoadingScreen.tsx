// Before the first image, and while the connection is down: what is going on, and what to do.
// While connected it lies under the tools, which stay usable; a lost connection covers everything, open dialogs too.

import { useEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { useSession } from "../session/session";
import { isEmptyScene, isOwner } from "../state/selectors";
import type { PageState } from "../state/state";
import { useSelect } from "../state/store";
import { Mark } from "./Mark";
import { StartPage } from "./StartPage";

interface Status {
  what: string;
  remedy: string;
  isBusy: boolean;
}

export function LoadingScreen(): ReactNode {
  const connection = useSelect((state) => state.connection);
  const worker = useSelect((state) => state.worker);
  const hasImage = useSelect((state) => state.shown !== null);
  const isEmpty = useSelect(isEmptyScene);
  const mayOpen = useSelect(isOwner);
  if (connection.phase !== "open") return <Disconnected connection={connection} isThin={hasImage} />;
  if (isEmpty) return mayOpen ? <StartPage /> : <Empty />;
  if (hasImage) return null;
  return (
    <div className="loading-screen">
      <Message status={statusOf(connection, worker)} />
    </div>
  );
}

/** A modal dialog: only the browser's top layer is above other dialogs. */
function Disconnected({ connection, isThin }: { connection: PageState["connection"]; isThin: boolean }): ReactNode {
  const session = useSession();
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    showModal(dialog);
    return () => dialog?.close();
  }, []);
  return (
    // Escape must not close it: nothing behind it works without the connection.
    <dialog ref={element} className={isThin ? "loading-screen is-thin" : "loading-screen"} aria-label="Connection" onCancel={(event) => event.preventDefault()} onClose={(event) => showModal(event.currentTarget)}>
      <Message status={statusOf(connection, null)}>
        {connection.phase === "waiting" ? <Countdown atMs={connection.retryAtMs} /> : null}
        {connection.phase === "waiting" ? <Button onClick={() => session.reconnect()}>Reconnect now</Button> : null}
        {connection.phase === "closed" ? <Button onClick={() => location.reload()}>Reload</Button> : null}
      </Message>
    </dialog>
  );
}

function showModal(dialog: HTMLDialogElement | null): void {
  if (dialog && !dialog.open) dialog.showModal();
}

function Message({ status, children }: { status: Status; children?: ReactNode }): ReactNode {
  return (
    <div className="loading-screen-text grows" role="status">
      <Mark isBusy={status.isBusy} />
      <p>{status.what}</p>
      {status.remedy ? <p className="hint">{status.remedy}</p> : null}
      {children}
    </div>
  );
}

function statusOf(connection: PageState["connection"], worker: PageState["worker"]): Status {
  if (connection.phase === "waiting" || connection.phase === "closed") return { what: connection.what, remedy: connection.remedy, isBusy: connection.phase === "waiting" };
  if (connection.phase === "connecting") return { what: "Connecting", remedy: "", isBusy: true };
  if (worker && worker.state !== "ready") {
    const what = worker.what || { starting: "Starting the renderer", loading: "Loading the volume", compiling: "Compiling the renderer", lost: "Restarting the renderer", stopped: "The renderer has stopped" }[worker.state];
    const remedy = worker.remedy || (worker.state === "compiling" ? "This takes longer the first time on a machine." : "");
    return { what, remedy, isBusy: worker.state !== "stopped" };
  }
  return { what: "Rendering the first image", remedy: "", isBusy: true };
}

function Empty(): ReactNode {
  return (
    <div className="loading-screen">
      <div className="loading-screen-text grows">
        <Mark isBusy={false} />
        <p>Nothing is open.</p>
        <p className="hint">The owner has not opened a file yet.</p>
      </div>
    </div>
  );
}

function Countdown({ atMs }: { atMs: number }): ReactNode {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.ceil((atMs - now) / 1000);
  return <p className="hint number">{seconds > 0 ? `Next attempt in ${seconds} s` : "Connecting…"}</p>;
}
