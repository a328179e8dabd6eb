// What is going on and what went wrong: notifications, tasks under way, the warning before the instance ends.

import { useEffect, useState, type ReactNode } from "react";
import { createPortal } from "react-dom";
import { Button, IconButton } from "../components/Button";
import { useOpenDialog } from "../components/Dialog";
import { bytes } from "../geometry/measures";
import { ticketFor } from "../connection/requests";
import { follow } from "../components/files";
import type { Progress } from "../protocol";
import { openFile, reconstruct } from "../session/openFile";
import { type Session, useSession } from "../session/session";
import { useSelect } from "../state/store";

export function Notifications(): ReactNode {
  const dialog = useOpenDialog();
  return dialog ? createPortal(<NoticeList />, dialog) : <NoticeList />;
}

function NoticeList(): ReactNode {
  const session = useSession();
  const notices = useSelect((state) => state.notices);
  const tasks = useSelect((state) => state.tasks);
  // The workbench shows the progress of its own reconstruction.
  const here = useSelect((state) => state.runs[state.interface.scan]?.task);
  const denoised = useSelect(({ interface: { scan } }) => `Denoising ${scan.slice(scan.lastIndexOf("/") + 1)}`);
  return (
    <div className="notifications grows" role="status" aria-live="polite">
      <IdleWarning />
      <WorkerNotice />
      {Object.values(tasks)
        .filter(({ task, name }) => task !== here && !denoised.startsWith(name))
        .map((task) => (
          <Task key={task.task} task={task} />
        ))}
      {notices.map((notice) => (
        <div key={notice.id} className={`notification pane is-${notice.tone}`}>
          <div>
            <p>{notice.what}</p>
            {notice.remedy ? <p className="hint">{notice.remedy}</p> : null}
            {notice.link ? <a href={notice.link}>{notice.link}</a> : null}
          </div>
          {notice.opens ? (
            <Button
              look="main"
              onClick={() => {
                session.store.dispatch({ type: "dismiss", id: notice.id });
                void openFile(session, { path: notice.opens, how: "replace" });
              }}
            >
              Open
            </Button>
          ) : null}
          <IconButton icon="close" label="Dismiss" onClick={() => session.store.dispatch({ type: "dismiss", id: notice.id })} />
        </div>
      ))}
    </div>
  );
}

function Task({ task }: { task: Progress }): ReactNode {
  const session = useSession();
  const scan = useSelect(({ runs }) => Object.keys(runs).find((one) => runs[one]?.task === task.task));
  const share = task.total ? Math.min(task.done / task.total, 1) : null;
  const left = task.seconds_left === null ? "" : ` · ${Math.ceil(task.seconds_left)} s left`;
  if (task.state === "finished") {
    return (
      <div className="notification pane is-success">
        <p>{task.name}: done.</p>
        <Button look="main" onClick={() => void saved(session, task)}>
          Save
        </Button>
        <IconButton icon="close" label="Dismiss" onClick={() => session.store.dispatch({ type: "dismiss-task", task: task.task })} />
      </div>
    );
  }
  return (
    <div className="notification pane">
      <div className="task">
        <p>
          {task.name}{" "}
          <span className="hint number">
            {amount(task)}
            {left}
          </span>
        </p>
        <div className={share === null ? "bar is-unknown" : "bar"} role="progressbar" aria-valuenow={share === null ? undefined : Math.round(share * 100)} aria-label={task.name}>
          <span style={share === null ? {} : { width: `${share * 100}%` }} />
        </div>
      </div>
      {scan ? (
        <Button title="Back to the settings of this reconstruction" onClick={() => reconstruct(session, scan)}>
          Settings
        </Button>
      ) : null}
      <IconButton icon="close" label={`Stop: ${task.name}`} onClick={() => session.send({ type: "cancel_task", task: task.task })} />
    </div>
  );
}

async function saved(session: Session, { task, url }: Progress): Promise<void> {
  const ticket = await session.attempt(ticketFor(url));
  if (!ticket) return;
  follow(ticket.url, "");
  session.store.dispatch({ type: "dismiss-task", task });
}

function amount({ done, total, unit }: Progress): string {
  if (unit === "%") return `${done} %`;
  const text = (count: number): string => (unit === "B" ? bytes(count) : `${Math.round(count)}`);
  return `${text(done)}${total === null ? "" : ` of ${text(total)}`} ${unit === "B" ? "" : unit}`.trim();
}

const DOING = { starting: "Starting the renderer", loading: "Loading", compiling: "Compiling", lost: "Restarting the renderer" } as const;

/** The render process, while it is not ready. */
function WorkerNotice(): ReactNode {
  const worker = useSelect((state) => state.worker);
  const hasImage = useSelect((state) => state.shown !== null && state.connection.phase === "open");
  if (!worker || worker.state === "ready" || !hasImage) return null;
  if (worker.state === "stopped") {
    return (
      <div className="notification pane is-error">
        <div>
          <p>{worker.what}</p>
          <p className="hint">{worker.remedy}</p>
        </div>
      </div>
    );
  }
  // A notice of its own says why it was lost.
  return (
    <div className="notification pane">
      <div className="task">
        <p>{DOING[worker.state]}…</p>
        <div className="bar is-unknown">
          <span />
        </div>
      </div>
    </div>
  );
}

function IdleWarning(): ReactNode {
  const session = useSession();
  const idle = useSelect((state) => state.idle);
  const now = useSeconds(idle?.is_warning ?? false);
  if (!idle?.is_warning) return null;
  const left = Math.max(0, idle.seconds_left - (now - idle.atMs) / 1000);
  const text = left >= 60 ? `${Math.ceil(left / 60)} minutes` : `${Math.ceil(left)} seconds`;
  return (
    <div className="notification pane is-warning">
      <div>
        <p>This viewer has been idle and stops in {text}.</p>
      </div>
      <Button look="main" onClick={() => session.send({ type: "keep_alive" })}>
        Keep running
      </Button>
    </div>
  );
}

function useSeconds(isOn: boolean): number {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => setNow(performance.now()), 1000);
    return () => clearInterval(timer);
  }, [isOn]);
  return now;
}
