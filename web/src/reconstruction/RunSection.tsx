// The run. Here: its output, progress and result, and how to reproduce it. Not here: the work (the instance).

import { useEffect, useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { Switch } from "../components/Choice";
import { choose, saveText } from "../components/files";
import { Section } from "../components/Section";
import { about, duration } from "../geometry/duration";
import type { Progress, ScanDescription, ReconstructionDraft } from "../protocol";
import { openFile } from "../session/openFile";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";
import type { Change } from "./PreviewImages";
import { commandOf, logOf, startReconstruction } from "./requests";
import { TextField } from "./fields";
import { centerOf, parametersText, requestOf, withParameters } from "./draft";

const COMMAND_PAUSE_MS = 200;

interface RunSectionProps {
  path: string;
  scan: ScanDescription;
  draft: ReconstructionDraft;
  onChange: Change;
}

export function RunSection({ path, draft, onChange }: RunSectionProps): ReactNode {
  const session = useSession();
  const run = useSelect((state) => state.runs[path] ?? null);
  const progress = useSelect((state) => (run ? state.tasks[run.task] : undefined));
  const ended = run?.status ?? null;
  const start = async (): Promise<void> => {
    const { output, is_watched: isWatched } = draft;
    const started = await session.attempt(startReconstruction(requestOf(path, draft)));
    if (started) session.store.dispatch({ type: "run", scan: path, run: { task: started.task, output, isWatched, isOver: false, status: null } });
  };
  const open = async (): Promise<void> => {
    await openFile(session, { path: run?.output ?? draft.output, how: "replace" });
    session.page({ scan: "" });
  };
  const isRunning = run !== null && !run.isOver;
  const share = progress?.total ? Math.min(progress.done / progress.total, 1) : null;
  return (
    <div className="workbench-run">
      <TextField label="Output" example="a name ending in .zarr" value={draft.output} onChange={(output) => onChange({ output })} />
      <Switch label="Overwrite an existing output" title="If this is off, the name of an existing output is refused" isOn={draft.is_replaced} onChange={(is_replaced) => onChange({ is_replaced })} />
      <Switch label="Show slices while running" title="They replace what the viewer shows" isOn={draft.is_watched} onChange={(is_watched) => onChange({ is_watched })} />
      {isRunning ? (
        <>
          <div className={share === null ? "bar is-unknown" : "bar"} role="progressbar" aria-label="Reconstruction" aria-valuenow={share === null ? undefined : Math.round(share * 100)}>
            <span style={share === null ? {} : { width: `${share * 100}%` }} />
          </div>
          <div className="row">
            <span className="label number">{runText(progress)}</span>
            {run.isWatched ? (
              <Button look="main" title="Watch the volume fill; these settings stay as they are" onClick={() => session.page({ scan: "" })}>
                Watch
              </Button>
            ) : null}
            <Button title="Stop the reconstruction; the same settings continue it" onClick={() => session.send({ type: "cancel_task", task: run.task })}>
              Stop
            </Button>
          </div>
        </>
      ) : (
        <div className="row">
          <Button look={ended?.state === "finished" ? "normal" : "main"} isWide isDisabled={centerOf(draft.recipe) === null || draft.output === ""} onClick={() => void start()}>
            {ended?.state === "finished" ? "Run again" : "Reconstruct all slices"}
          </Button>
          {ended?.state === "finished" ? (
            <Button look="main" isWide onClick={() => void open()}>
              Open volume
            </Button>
          ) : null}
        </div>
      )}
      {ended?.state === "finished" ? (
        <p className="hint" role="status">
          Done in {duration(ended.seconds)}.
        </p>
      ) : null}
      {ended?.state === "stopped" ? (
        <div role="alert">
          <p className="is-bad">{ended.what}</p>
          <p className="hint">{ended.remedy}</p>
        </div>
      ) : null}
      {run ? <Log task={run.task} /> : null}
    </div>
  );
}

/** How far it is, and how long it will take. */
function runText(progress: Progress | undefined): string {
  if (!progress) return "Starting…";
  if (progress.note) return progress.note;
  const left = progress.seconds_left === null || progress.seconds_left === undefined ? "" : ` · ${about(progress.seconds_left)} left`;
  const share = progress.total ? Math.round((100 * progress.done) / progress.total) : 0;
  return `${share > 0 ? `${share} %` : "Starting"}${left}`;
}

function Log({ task }: { task: string }): ReactNode {
  const session = useSession();
  const [text, setText] = useState("");
  return (
    <details className="fold" onToggle={(event) => (event.currentTarget.open ? void session.attempt(logOf(task)).then((log) => setText(log ?? "")) : undefined)}>
      <summary>Log</summary>
      <pre className="workbench-log scrolls">{text || "The log is empty."}</pre>
    </details>
  );
}

/** To reproduce it: as a command line and as a file. */
export function ReproduceSection({ path, scan, draft, onChange }: RunSectionProps): ReactNode {
  const session = useSession();
  const text = useCommand(path, draft);
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  const read = async (): Promise<void> => {
    const file = await choose(".json,application/json");
    if (!file) return;
    const next = withParameters(draft, await file.text());
    if (next) onChange(next);
    else session.notify("error", `${file.name} contains no reconstruction parameters.`, "Choose a JSON file that was saved here.");
  };
  return (
    <Section title="Reproduce" isOpenAtFirst={false}>
      <code className="workbench-command" data-command>
        {text}
      </code>
      <div className="row">
        {navigator.clipboard ? <Button onClick={() => void copy()}>{isCopied ? "Copied" : "Copy"}</Button> : null}
        <Button icon="download" onClick={() => saveText(parametersText(draft), `${scan.name}.recipe.json`)}>
          Save
        </Button>
        <Button icon="upload" onClick={() => void read()}>
          Load
        </Button>
      </div>
    </Section>
  );
}

function useCommand(path: string, draft: ReconstructionDraft): string {
  const [text, setText] = useState("");
  const request = JSON.stringify(requestOf(path, draft));
  useEffect(() => {
    let isWanted = true;
    const timer = setTimeout(() => {
      commandOf(JSON.parse(request)).then(
        (command) => (isWanted ? setText(command.text) : undefined),
        () => (isWanted ? setText("") : undefined),
      );
    }, COMMAND_PAUSE_MS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [request]);
  return text;
}
