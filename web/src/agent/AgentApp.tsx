// The agent's page: files on the left, viewers and tasks on the right. Here: how they fit together, errors, polling. Not here: each of them.

import { useCallback, useEffect, useMemo, useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import type { AgentApi } from "./api";
import { AgentContext, errorText, type Agent } from "./context";
import { FilesPane } from "./FilesPane";
import { isOver } from "./jobs";
import { JobsPane } from "./JobsPane";
import type { About, Job } from "./protocol";
import { ViewerDialog } from "./ViewerDialog";

const POLL_MS = 1000;

/** opened: the agent's description of itself, after it has accepted the page. A code works once, so this is not requested here. */
export function AgentApp({ api, opened }: { api: AgentApi; opened: Promise<About> }): ReactNode {
  const [about, setAbout] = useState<About | null>(null);
  const [error, setError] = useState("");
  useEffect(() => void opened.then(setAbout, (reason: unknown) => setError(errorText(reason))), [opened]);
  const attempt = useCallback<Agent["attempt"]>(async (act) => {
    setError("");
    try {
      await act();
    } catch (reason) {
      setError(errorText(reason));
    }
  }, []);
  const { jobs, problem, refreshJobs } = useJobs(api, about !== null);
  const agent = useMemo(() => (about ? { api, about, attempt, refreshJobs } : null), [api, about, attempt, refreshJobs]);
  const [isStarting, setStarting] = useState(false);
  const alert = error || problem;
  return (
    <div className="agent">
      <header className="agent-head">
        <img src="./icon.svg" alt="" width="22" height="22" />
        <h1>Pellucid</h1>
        <p className="hint" role="status">
          {about ? siteText(about) : ""}
        </p>
        <Button look="main" isDisabled={agent === null} onClick={() => setStarting(true)}>
          New viewer
        </Button>
        {about?.hub ? <HubLinks hub={about.hub} /> : null}
      </header>
      {alert ? (
        <p className="agent-error" role="alert">
          {alert}
        </p>
      ) : null}
      {agent ? (
        <AgentContext value={agent}>
          <main>
            <FilesPane endedTasks={jobs?.filter((job) => job.kind === "task" && isOver(job)).length ?? 0} />
            <JobsPane jobs={jobs} />
          </main>
          {isStarting ? <ViewerDialog onClose={() => setStarting(false)} /> : null}
        </AgentContext>
      ) : null}
    </div>
  );
}

function siteText({ scheduler, partition, product }: About): string {
  const place = scheduler === "local" ? "on this machine" : `on Slurm${partition ? `, partition ${partition}` : ""}`;
  return `Jobs run ${place} · version ${product}`;
}

/** Behind a Hub several users may share a browser, and programs need tokens. */
function HubLinks({ hub }: { hub: string }): ReactNode {
  return (
    <>
      <a className="button is-plain" href={`${hub}/token`}>
        Tokens
      </a>
      <a className="button is-plain" href={`${hub}/logout`}>
        Log out
      </a>
    </>
  );
}

interface Jobs {
  /** null: not known yet. */
  jobs: readonly Job[] | null;
  problem: string;
  refreshJobs: () => Promise<void>;
}

function useJobs(api: AgentApi, isOpen: boolean): Jobs {
  const [jobs, setJobs] = useState<readonly Job[] | null>(null);
  const [problem, setProblem] = useState("");
  const refreshJobs = useCallback(async () => {
    try {
      const next = await api.jobs();
      // Cards that do not change are not rendered again.
      setJobs((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next));
      setProblem("");
    } catch (reason) {
      setProblem(errorText(reason));
    }
  }, [api]);
  useEffect(() => {
    if (!isOpen) return undefined;
    let timer = 0;
    let isPolling = true;
    const poll = async (): Promise<void> => {
      await refreshJobs();
      if (isPolling) timer = window.setTimeout(() => void poll(), POLL_MS);
    };
    void poll();
    return () => {
      isPolling = false;
      window.clearTimeout(timer);
    };
  }, [isOpen, refreshJobs]);
  return { jobs, problem, refreshJobs };
}
