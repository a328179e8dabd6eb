// What is in a file. Here: facts, requested when they are needed; ways to open it. Not here: the list of files.

import { useEffect, useState, type ReactNode, type RefObject } from "react";
import { bytes } from "../geometry/measures";
import { factsOf } from "../connection/requests";
import { RequestError } from "../connection/requestError";
import { Button } from "../components/Button";
import type { Entry, FileFacts, LoadRequest } from "../protocol";
import { openFile, reconstruct } from "../session/openFile";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";
import { guessedLayout, neededBytes, rawLocation, type RawLayout } from "./raw";
import { RawForm } from "./RawForm";

/** Rows send requests one after another, because the Worker that reads files also renders. */
let turn: Promise<unknown> = Promise.resolve();

/** Facts of a file in a list, once its row was seen. */
export function useRowFacts(entry: Entry, row: RefObject<HTMLElement | null>): FileFacts | null {
  const [facts, setFacts] = useState<FileFacts | null>(null);
  useEffect(() => {
    if (entry.kind !== "volume" || row.current === null) return undefined;
    let isWanted = true;
    const watcher = new IntersectionObserver((changes) => {
      if (!changes.some((change) => change.isIntersecting)) return;
      watcher.disconnect();
      turn = turn.then(() => (isWanted ? factsOf(entry.path).then((found) => (isWanted ? setFacts(found) : undefined), ignored) : undefined));
    });
    watcher.observe(row.current);
    return () => {
      isWanted = false;
      watcher.disconnect();
    };
  }, [entry.kind, entry.path, row]);
  return facts;
}

/** A row may have no facts; opening the file then shows what is wrong. */
function ignored(): void {}

/** In a few words, for a row. */
export function shortly(facts: FileFacts): string {
  const [z, y, x] = facts.shape ?? [0, 0, 0];
  if (facts.is_scan) return facts.shape ? `scan, ${z} projections` : "scan";
  return facts.shape ? `${x} × ${y} × ${z} (x, y, z) ${facts.dtype}` : "";
}

/** Whether a click can open it, without a choice by the user. */
export const isPlain = (facts: FileFacts): boolean => facts.problem === "" && facts.shape !== null;

export function Facts({ entry }: { entry: Entry }): ReactNode {
  const session = useSession();
  const hasVolume = useSelect((state) => (state.server?.scene.volumes.length ?? 0) > 0);
  const [dataset, setDataset] = useState("");
  const isVolume = entry.kind === "volume";
  // Facts are for volumes; points and meshes are opened to see what they are.
  const { facts, problem } = useFacts(isVolume ? (dataset ? `${entry.path}:${dataset}` : entry.path) : "");
  const [typed, setLayout] = useState<RawLayout | null>(null);
  const layout = facts?.is_headerless ? (typed ?? guessedLayout(entry.name, entry.bytes ?? 0)) : null;
  const path = layout ? rawLocation(entry.path, layout) : dataset ? `${entry.path}:${dataset}` : entry.path;
  const open = (how: NonNullable<LoadRequest["how"]>): void => void openFile(session, { path, how });
  if (facts?.is_scan) return <ScanFacts entry={entry} facts={facts} />;
  const isUndecided = dataset === "" && (facts?.datasets.length ?? 0) > 1;
  const isFitting = layout !== null && layout.offset + neededBytes(layout) <= (entry.bytes ?? 0);
  const isOpenable = !isVolume || (problem === null && (layout ? isFitting : facts?.problem === "" && !isUndecided));
  return (
    <div className="facts">
      <h3 title={entry.path}>{entry.name}</h3>
      {problem ? <Problem problem={problem} /> : null}
      {layout ? <RawForm bytes={entry.bytes ?? 0} layout={layout} slice={isFitting ? path : ""} onChange={setLayout} /> : facts ? <FactLines facts={facts} /> : problem || !isVolume ? null : <p className="hint">Reading…</p>}
      {facts && facts.datasets.length > 1 ? (
        <select className="field" aria-label="Dataset" value={dataset} onChange={(event) => setDataset(event.currentTarget.value)}>
          <option value="">Choose a dataset…</option>
          {facts.datasets.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      ) : null}
      <div className="row wraps">
        <Button look="main" isDisabled={!isOpenable} onClick={() => open("replace")}>
          Open
        </Button>
        <Button isDisabled={!isOpenable} onClick={() => open("add")}>
          Add as a layer
        </Button>
        {isVolume && hasVolume ? (
          <Button isDisabled={!isOpenable} onClick={() => open("labels")}>
            Open as labels
          </Button>
        ) : null}
        {facts?.may_be_scan ? (
          <Button title="Choose which datasets are projections, flats, darks and angles" onClick={() => reconstruct(session, entry.path)}>
            Reconstruct…
          </Button>
        ) : null}
      </div>
    </div>
  );
}

function ScanFacts({ entry, facts }: { entry: Entry; facts: FileFacts }): ReactNode {
  const session = useSession();
  const [views, rows, columns] = facts.shape ?? [0, 0, 0];
  const projections = [entry.path, ...facts.datasets].join(":");
  return (
    <div className="facts">
      <h3 title={entry.path}>{entry.name}</h3>
      <p className="hint number">{facts.shape ? `scan · ${views} projections of ${columns} × ${rows} pixels · ${facts.dtype}` : "scan with missing information"}</p>
      <div className="row">
        <Button look="main" onClick={() => reconstruct(session, entry.path)}>
          Reconstruct
        </Button>
        {facts.shape ? <Button onClick={() => void openFile(session, { path: projections, how: "replace" })}>Open projections</Button> : null}
      </div>
    </div>
  );
}

function useFacts(path: string): { facts: FileFacts | null; problem: RequestError | null } {
  const [known, setKnown] = useState<{ path: string; facts: FileFacts | null; problem: RequestError | null }>({ path: "", facts: null, problem: null });
  useEffect(() => {
    if (path === "") return undefined;
    let isWanted = true;
    factsOf(path).then(
      (facts) => (isWanted ? setKnown({ path, facts, problem: null }) : undefined),
      (error: unknown) => (isWanted && error instanceof RequestError ? setKnown({ path, facts: null, problem: error }) : undefined),
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
      {facts.shape ? `${x} × ${y} × ${z} (x, y, z) · ${facts.dtype} · ` : ""}
      {[facts.shape ? bytes(facts.bytes) : "", ...more].filter(Boolean).join(" · ")}
    </p>
  );
}

export function Problem({ problem }: { problem: RequestError }): ReactNode {
  return (
    <div className="empty">
      <p className="is-bad">{problem.what}</p>
      <p className="hint">{problem.remedy}</p>
    </div>
  );
}
