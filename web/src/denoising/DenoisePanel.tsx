// Denoising beside the workbench. Here: its settings, starting and stopping it, what was measured. Not here: its images (TrainingView.tsx), the slices' settings (reconstruction/Settings.tsx).

import type { ReactNode } from "react";
import { Button } from "../components/Button";
import { Segmented, Switch } from "../components/Choice";
import { Section } from "../components/Section";
import type { DenoisingPreset, ReconstructionDraft, RegionName, ScanDescription } from "../protocol";
import { Numbers, TextField } from "../reconstruction/fields";
import { centerOf } from "../reconstruction/draft";
import { openFile } from "../session/openFile";
import { useSession } from "../session/session";
import { edgeOf, requestOf, stageOf, type DenoisingDraft } from "./draft";
import { keepNetwork, startDenoising } from "./requests";
import type { WatchedDenoising } from "./useDenoising";

const REGIONS: readonly RegionName[] = ["material", "air"];

interface DenoisePanelProps {
  path: string;
  scan: ScanDescription;
  /** How slices are made. */
  slices: ReconstructionDraft;
  draft: DenoisingDraft;
  drawing: RegionName | null;
  watched: WatchedDenoising;
  onChange: (change: Partial<DenoisingDraft>) => void;
  onDraw: (name: RegionName | null) => void;
}

export function DenoisePanel(props: DenoisePanelProps): ReactNode {
  const { draft, slices, onChange } = props;
  return (
    <>
      <div className="scrolls">
        <Section title="Denoising network">
          <p className="hint">A network learns from this scan alone: it predicts slices of one part of the views from slices of the others, and is applied to all slices.</p>
          <Segmented<DenoisingPreset>
            label="Preset"
            value={draft.preset}
            options={[
              { value: "fast", label: "Fast", title: "Patches of 256 × 256, 3000 steps" },
              { value: "spring8", label: "SPring-8", title: "Whole slices as published: patches of 2216 × 2216; needs a GPU" },
            ]}
            onChange={(preset) => onChange({ preset })}
          />
          {slices.recipe.rings.method === "none" ? <p className="hint">Ring removal is off, under Reconstruct: the network keeps rings.</p> : null}
          <Numbers label="Steps" hint="0 = preset" value={draft.steps} step={100} onChange={(steps) => onChange({ steps: Math.round(steps) })} />
        </Section>
        <RegionSection {...props} />
      </div>
      <DenoiseRun {...props} />
    </>
  );
}

function RegionSection({ scan, slices, draft, drawing, onChange, onDraw }: DenoisePanelProps): ReactNode {
  const isKnown = edgeOf(scan, slices) !== null;
  return (
    <Section title="Signal to noise">
      <div className="row">
        {REGIONS.map((name) => (
          <Button key={name} isWide isOn={drawing === name} isDisabled={!isKnown} onClick={() => onDraw(drawing === name ? null : name)}>
            Draw {name}
          </Button>
        ))}
      </div>
      {draft.regions.map(({ name, start, stop }) => (
        <p key={name} className="row hint number">
          {name}: slices {start[0]} to {stop[0] - 1}, {stop[1] - start[1]} × {stop[2] - start[2]} voxels
        </p>
      ))}
      {draft.regions.length > 0 ? <Button onClick={() => onChange({ regions: [] })}>Remove regions</Button> : null}
      <p className="hint">{isKnown ? "Drag over the slice. Without regions, two flat parts of the volume are chosen." : "Two flat parts of the volume are chosen."}</p>
    </Section>
  );
}

function DenoiseRun({ path, slices, draft, watched, onChange }: DenoisePanelProps): ReactNode {
  const session = useSession();
  const { run, refresh } = watched;
  const state = run?.status.state;
  const hasOneRegion = draft.regions.length === 1;
  const start = async (): Promise<void> => {
    if (await session.attempt(startDenoising(requestOf(path, slices, draft)))) refresh();
  };
  const open = async (): Promise<void> => {
    await openFile(session, { path: run?.output ?? draft.output, how: "replace" });
    session.page({ scan: "" });
  };
  return (
    <div className="workbench-run">
      <TextField label="Output" example="a name ending in .zarr" value={draft.output} onChange={(output) => onChange({ output })} />
      <Switch label="Overwrite an existing output" isOn={draft.isReplaced} onChange={(isReplaced) => onChange({ isReplaced })} />
      {run && state === "running" ? (
        <RunningDenoising watched={{ run, refresh }} />
      ) : (
        <div className="row">
          <Button look={state === "finished" ? "normal" : "main"} isWide isDisabled={centerOf(slices.recipe) === null || draft.output === "" || hasOneRegion} title={hasOneRegion ? "Draw the other region too" : undefined} onClick={() => void start()}>
            {state === "finished" ? "Run again" : state === "stopped" ? "Continue" : "Train and denoise"}
          </Button>
          {state === "finished" ? (
            <Button look="main" isWide onClick={() => void open()}>
              Open volume
            </Button>
          ) : null}
        </div>
      )}
      {run && state === "stopped" ? (
        <div role="alert">
          <p className="is-bad">{run.status.what}</p>
          <p className="hint">{run.status.remedy}</p>
        </div>
      ) : null}
      {run?.sentences.map((sentence) => (
        <p key={sentence} className="hint">
          {sentence}
        </p>
      ))}
    </div>
  );
}

function RunningDenoising({ watched: { run, refresh } }: { watched: WatchedDenoising }): ReactNode {
  const session = useSession();
  if (!run) return null;
  const { status, is_training: isTraining } = run;
  const share = isTraining && run.steps > 0 ? run.step / run.steps : status.total ? Math.min(status.done / status.total, 1) : null;
  const keep = async (): Promise<void> => {
    await session.attempt(keepNetwork(status.task));
    refresh();
  };
  return (
    <>
      <div className={share === null ? "bar is-unknown" : "bar"} role="progressbar" aria-label="Denoising" aria-valuenow={share === null ? undefined : Math.round(share * 100)}>
        <span style={share === null ? {} : { width: `${share * 100}%` }} />
      </div>
      <p className="label number">{stageOf(run)}</p>
      <div className="row">
        <Button look="main" isWide isDisabled={!isTraining} title="End the training now, keep its network and apply it" onClick={() => void keep()}>
          Stop and keep
        </Button>
        <Button title="Stop; it can be continued later" onClick={() => session.send({ type: "cancel_task", task: status.task })}>
          Stop
        </Button>
      </div>
    </>
  );
}
