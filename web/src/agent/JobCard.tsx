// One viewer or task, or a batch of tasks. Here: its card, opening and stopping it. Not here: what the line below says (jobs.ts).

import { useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { contentAddress } from "./api";
import { folderOf } from "./commands";
import { useAgent } from "./context";
import { batchSummary, formatTime, isOver, resourcesText, statusText } from "./jobs";
import { openTab } from "./opening";
import type { Job } from "./protocol";
import { TrainingDialog } from "./TrainingDialog";

/** Files that a browser can display. */
const DISPLAYABLE = /\.(png|jpe?g|gif|webp|mp4|webm|txt|json|csv)$/i;

interface CardProps {
  name: string;
  phase: Job["state"]["phase"];
  facts: string;
  status: string;
  /** null: no bar; NaN never. */
  fraction: number | null;
  actions: ReactNode;
  children?: ReactNode;
}

function Card({ name, phase, facts, status, fraction, actions, children }: CardProps): ReactNode {
  return (
    <article className="agent-card" aria-label={name}>
      <span className={`agent-phase is-${phase}`}>{phase}</span>
      <div className="agent-what">
        <h3 title={name}>{name}</h3>
        <p className="hint number">{facts}</p>
      </div>
      <div className="agent-actions">{actions}</div>
      {status ? <p className="agent-status">{status}</p> : null}
      {fraction === null ? null : <progress value={fraction} aria-label={`Progress of ${name}`} />}
      {children}
    </article>
  );
}

interface JobCardProps {
  job: Job;
  onLog: (job: Job) => void;
}

export function JobCard({ job, onLog }: JobCardProps): ReactNode {
  const { phase, node } = job.state;
  const facts = [job.kind, node, resourcesText(job.resources), `started ${formatTime(job.created_at)}`].filter(Boolean).join(" · ");
  const fraction = phase === "running" ? (job.progress?.fraction ?? null) : null;
  return <Card name={job.name} phase={phase} facts={facts} status={statusText(job)} fraction={fraction} actions={<JobActions job={job} onLog={onLog} />} />;
}

function JobActions({ job, onLog }: JobCardProps): ReactNode {
  const { api, attempt, refreshJobs } = useAgent();
  const start = (request: Parameters<typeof api.startViewer>[0]): void => void attempt(() => api.startViewer(request).then(refreshJobs));
  return (
    <>
      {job.path ? (
        <Button look="main" onClick={() => void attempt(() => openTab(() => api.viewerAddress(job.id)))}>
          Open
        </Button>
      ) : null}
      {job.state.phase === "ended" && job.progress?.result ? <ResultButton result={job.progress.result} /> : null}
      {job.saved && isOver(job) ? (
        <Button title="Start a viewer with the last scene of this one" onClick={() => start({ state: job.saved, name: job.name })}>
          Resume
        </Button>
      ) : null}
      {job.is_training ? <TrainingButton job={job} /> : null}
      <Button look="plain" onClick={() => onLog(job)}>
        Log
      </Button>
      {isOver(job) ? null : (
        <Button look="plain" onClick={() => void attempt(() => api.stopJob(job.id).then(refreshJobs))}>
          Stop
        </Button>
      )}
    </>
  );
}

function TrainingButton({ job }: { job: Job }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button look="plain" onClick={() => setOpen(true)}>
        Training
      </Button>
      {isOpen ? <TrainingDialog job={job} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function ResultButton({ result }: { result: string }): ReactNode {
  const { api, attempt, refreshJobs } = useAgent();
  if (/^https?:/.test(result)) {
    // Only pages from this machine or over https may use the clipboard.
    if (navigator.clipboard) return <Button onClick={() => void attempt(() => navigator.clipboard.writeText(result))}>Copy link</Button>;
    return (
      <a className="button" href={result} target="_blank" rel="noopener noreferrer">
        Open link
      </a>
    );
  }
  const show = (): Promise<unknown> =>
    DISPLAYABLE.test(result) ? openTab(() => api.ticketFor(contentAddress(result, true))) : api.startViewer({ source: result, roots: [folderOf(result)] }).then(refreshJobs);
  return <Button onClick={() => void attempt(show)}>Open result</Button>;
}

export function BatchCard({ jobs, onLog }: { jobs: readonly Job[]; onLog: (job: Job) => void }): ReactNode {
  const { api, attempt, refreshJobs } = useAgent();
  const [isOpen, setOpen] = useState(false);
  const { done, failed, phase, fraction, running } = batchSummary(jobs);
  const [first] = jobs;
  if (!first) return null;
  const isActive = done < jobs.length;
  const name = `${first.name.split(" ")[0] ?? ""}: batch of ${jobs.length} files`;
  const facts = [`${done} done`, failed ? `${failed} failed` : "", `started ${formatTime(first.created_at)}`].filter(Boolean).join(" · ");
  const stop = (): void => void attempt(() => api.stopBatch(first.batch).then(refreshJobs));
  return (
    <Card name={name} phase={phase} facts={facts} status={running?.name ?? ""} fraction={isActive ? fraction : null} actions={isActive ? <Button look="plain" onClick={stop}>Stop all</Button> : null}>
      <details className="agent-members" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>All {jobs.length} tasks</summary>
        {isOpen ? jobs.map((job) => <JobCard key={job.id} job={job} onLog={onLog} />) : null}
      </details>
    </Card>
  );
}
