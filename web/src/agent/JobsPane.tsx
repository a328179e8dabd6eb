// Viewers and tasks. Here: their lists, and the log of one. Not here: one of them (JobCard.tsx), asking for them (AgentApp.tsx).

import { useEffect, useState, type ReactNode } from "react";
import { DialogWindow } from "../components/Dialog";
import { errorText, useAgent } from "./context";
import { BatchCard, JobCard } from "./JobCard";
import { groupJobs } from "./jobs";
import type { Job } from "./protocol";

/** jobs: null while they are not known. */
export function JobsPane({ jobs }: { jobs: readonly Job[] | null }): ReactNode {
  const [shownLog, setShownLog] = useState<Job | null>(null);
  const { current, earlier, activeCount } = groupJobs(jobs ?? []);
  const [isOpen, setOpen] = useState(false);
  return (
    <section className="agent-pane is-jobs scrolls" aria-label="Viewers and tasks">
      <div className="agent-bar">
        <h2>Viewers and tasks</h2>
        <p className="hint">{activeCount > 0 ? `${activeCount} active` : ""}</p>
      </div>
      <div id="jobs">
        <Cards groups={current} onLog={setShownLog} />
      </div>
      {jobs?.length === 0 ? <p className="agent-empty hint">Nothing is running. Select a file to view or process it, or start a viewer without a file.</p> : null}
      {earlier.length > 0 ? (
        <details className="agent-earlier" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Earlier ({earlier.length})</summary>
          {isOpen ? <Cards groups={earlier} onLog={setShownLog} /> : null}
        </details>
      ) : null}
      {shownLog ? <LogDialog job={shownLog} onClose={() => setShownLog(null)} /> : null}
    </section>
  );
}

function Cards({ groups, onLog }: { groups: readonly (readonly Job[])[]; onLog: (job: Job) => void }): ReactNode {
  if (groups.length === 0) return null;
  return (
    <div className="agent-cards">
      {groups.map((group) => {
        const [first] = group;
        if (!first) return null;
        return first.batch ? <BatchCard key={first.batch} jobs={group} onLog={onLog} /> : <JobCard key={first.id} job={first} onLog={onLog} />;
      })}
    </div>
  );
}

function LogDialog({ job, onClose }: { job: Job; onClose: () => void }): ReactNode {
  const { api } = useAgent();
  const [text, setText] = useState("");
  useEffect(() => {
    let isWanted = true;
    const show = (next: string): void => (isWanted ? setText(next) : undefined);
    api.log(job.id).then(
      (log) => show(log.trim() || "The log is empty."),
      (error: unknown) => show(errorText(error)),
    );
    return () => {
      isWanted = false;
    };
  }, [api, job.id]);
  return (
    <DialogWindow title={`Log: ${job.name}`} width="wide" onClose={onClose}>
      <pre className="agent-log scrolls">{text}</pre>
    </DialogWindow>
  );
}
