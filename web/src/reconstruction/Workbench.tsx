// From a scan to a volume: images of the scan, the slice, the settings, and the run.
// Here: their arrangement. Not here: each of them.

import { useCallback, useEffect, useEffectEvent, useLayoutEffect, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { RequestError } from "../connection/requestError";
import { counted } from "../geometry/measures";
import { IconButton } from "../components/Button";
import type { AxisResult, ScanDescription, ScanOptions, ReconstructionDraft } from "../protocol";
import { DenoisedSlice, ResultChoice, useDenoisingWork } from "../denoising/DenoisingWork";
import { DenoisePanel } from "../denoising/DenoisePanel";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";
import { BeforeAfter } from "./BeforeAfter";
import { Inputs, type Change } from "./PreviewImages";
import { RegionSection } from "./RegionSection";
import { describeScan, findAxis } from "./requests";
import { ReproduceSection, RunSection } from "./RunSection";
import { MissingForm, ScanSection, useSuggestion } from "./ScanSection";
import { Settings } from "./Settings";
import { SliceBar } from "./SliceBar";
import { useSliceTools, type SliceTools } from "./sliceTools";
import { Slice } from "./SliceView";
import { isBusy, errorOf, PreviewStore, type Previews } from "./previewStore";
import { changed, firstDraft, NO_OPTIONS, withAxis } from "./draft";

/** Of an image, on any screen: larger ones take too long to send. */
const MAX_EDGE = 2048;

export function Workbench({ path }: { path: string }): ReactNode {
  const session = useSession();
  const element = useRef<HTMLElement>(null);
  const [draft, setDraft] = useState<ReconstructionDraft | null>(() => session.store.get().drafts[path] ?? null);
  const [options, setOptions] = useState<ScanOptions>(() => draft?.options ?? NO_OPTIONS);
  const { scan, problem } = useScan(path, options, (known) => setDraft((before) => (before ? { ...before, options } : firstDraft(known, options))));
  const close = (): void => session.page({ scan: "" });
  useEffect(() => element.current?.focus(), []);
  useSavedDraft(path, draft);
  return (
    <section ref={element} className="workbench grows" aria-label="Reconstruction" tabIndex={-1}>
      <header className="workbench-head">
        <div className="title">
          <h1>Reconstruct {path.slice(path.lastIndexOf("/") + 1)}</h1>
          <p className="hint number">{scan ? factsOf(scan) : problem ? "More information is needed." : "Opening…"}</p>
        </div>
        <IconButton icon="close" label="Close reconstruction" shortcut="Esc" onClick={close} />
      </header>
      {scan && draft ? (
        <Editor path={path} scan={scan} draft={draft} setDraft={setDraft} onOptions={setOptions} problem={problem} />
      ) : (
        <Missing path={path} options={options} problem={problem} onOptions={setOptions} />
      )}
    </section>
  );
}

interface MissingProps {
  path: string;
  options: ScanOptions;
  problem: RequestError | null;
  onOptions: (options: ScanOptions) => void;
}

/** What is needed before anything can be shown. */
function Missing({ path, options, problem, onOptions }: MissingProps): ReactNode {
  const suggestion = useSuggestion(problem ? path : "");
  if (!problem || !suggestion) return null;
  const isUnmarked = !suggestion.is_recognised;
  return (
    <div className="workbench-missing scrolls">
      {isUnmarked && options === NO_OPTIONS ? null : <Problem problem={problem} remedy="Choose it below." />}
      <div className="pane">
        <MissingForm suggestion={suggestion} problem={problem.what} options={options} onSubmit={onOptions} />
      </div>
    </div>
  );
}

interface EditorProps {
  path: string;
  scan: ScanDescription;
  draft: ReconstructionDraft;
  setDraft: (change: (before: ReconstructionDraft | null) => ReconstructionDraft | null) => void;
  onOptions: (options: ScanOptions) => void;
  problem: RequestError | null;
}

function Editor({ path, scan, draft, setDraft, onOptions, problem }: EditorProps): ReactNode {
  const change: Change = useCallback((part) => setDraft((before) => before && changed(before, typeof part === "function" ? part(before) : part)), [setDraft]);
  const tools = useSliceTools();
  const previews = usePreviews(path, draft, tools, setDraft);
  useAxis(path, draft, setDraft);
  const denoising = useDenoisingWork(path, scan, draft);
  const shared = { scan, draft, onChange: change };
  return (
    <div className={isBusy(previews) ? "workbench-grid is-busy" : "workbench-grid"}>
      <Inputs {...shared} previews={previews} />
      <div className="workbench-middle">
        <Problem problem={problem ?? errorOf(previews)} remedy="Change it under Scan." />
        {denoising.isShown ? (
          <DenoisedSlice {...shared} work={denoising} previews={previews} tools={tools} />
        ) : (
          <>
            <Slice {...shared} previews={previews} tools={tools} />
            <div>
              <SliceBar tools={tools} slice={previews.images.slice} />
              <BeforeAfter draft={draft} drag={tools.drag} onChange={change} />
            </div>
          </>
        )}
      </div>
      <div className="workbench-panel has-choice pane">
        <ResultChoice work={denoising} />
        {denoising.isShown ? (
          <DenoisePanel path={path} scan={scan} slices={draft} draft={denoising.draft} drawing={denoising.drawing} watched={denoising.watched} onChange={denoising.change} onDraw={denoising.draw} />
        ) : (
          <>
            <div className="scrolls">
              <Settings path={path} slice={previews.images.slice} {...shared} />
              <RegionSection {...shared} edge={previews.images.slice?.header.edge || scan.columns} tools={tools} />
              <ScanSection path={path} options={draft.options} scan={scan} onChange={onOptions} />
              <ReproduceSection path={path} {...shared} />
            </div>
            <RunSection path={path} {...shared} />
          </>
        )}
      </div>
    </div>
  );
}

/** The draft outlives this page: the viewer keeps it for the next one. */
function useSavedDraft(path: string, draft: ReconstructionDraft | null): void {
  const session = useSession();
  const client = useSelect((state) => state.welcome?.client);
  useEffect(() => {
    if (draft) session.store.dispatch({ type: "draft", scan: path, draft });
    // Sent again to a viewer that accepts the page anew: it may have been restarted.
    if (client) session.send({ type: "save_draft", scan: path, draft: draft, is_open: true });
  }, [session, client, path, draft]);
  const close = useEffectEvent(() => void session.send({ type: "save_draft", scan: path, draft: draft, is_open: false }));
  // At once: the user may reload the page right after closing it.
  useLayoutEffect(() => close, []);
}

/** Search for the axis thoroughly while the first guess is shown; an axis that the user moves meanwhile stays. */
function useAxis(path: string, draft: ReconstructionDraft, setDraft: EditorProps["setDraft"]): void {
  const { axis, options } = draft;
  const session = useSession();
  const ask = useEffectEvent((scanOptions: ScanOptions) => findAxis(path, scanOptions, draft.recipe));
  useEffect(() => {
    if (axis !== "guessed") return undefined;
    let isWanted = true;
    void session.attempt(ask(options)).then((found) => {
      if (isWanted) setDraft((before) => before && (before.axis !== "guessed" ? before : found ? withAxis(before, found, "found") : { ...before, axis: "chosen" }));
    });
    return () => {
      isWanted = false;
    };
  }, [session, axis, options, setDraft]);
}

function usePreviews(path: string, draft: ReconstructionDraft, { window, zoom }: SliceTools, setDraft: EditorProps["setDraft"]): Previews {
  const client = useSelect((state) => state.welcome?.client ?? "");
  const [store] = useState(() => {
    const found = (axis: AxisResult): void => setDraft((before) => before && withAxis(before, axis, before.axis));
    return new PreviewStore(path, { client, edge: wholeEdge() }, found);
  });
  const edge = zoom.scale > 1 ? MAX_EDGE : wholeEdge();
  useEffect(() => store.show(draft, client, { window, edge }), [store, draft, client, window, edge]);
  useEffect(() => () => store.close(), [store]);
  return useSyncExternalStore(store.subscribe, store.get);
}

/** Pixels of an image that is shown whole. */
const wholeEdge = (): number => Math.min(MAX_EDGE, Math.round(innerHeight * devicePixelRatio));

/** remedy: in the place of one for the command line. */
function Problem({ problem, remedy }: { problem: RequestError | null; remedy?: string }): ReactNode {
  if (!problem) return null;
  return (
    <div className="workbench-problem pane" role="alert">
      <p className="is-bad">{problem.what}</p>
      <p className="hint">{remedy && / --\w/.test(` ${problem.remedy}`) ? remedy : problem.remedy}</p>
    </div>
  );
}

function factsOf(scan: ScanDescription): string {
  const angles = `${scan.first_angle_deg.toFixed(1)}° to ${scan.last_angle_deg.toFixed(1)}°`;
  const pixel = scan.pixel_size_um ? ` · ${scan.pixel_size_um} µm` : "";
  return `${scan.kind} · ${scan.projections} views, ${angles} · ${scan.columns} × ${scan.rows} pixels, ${scan.dtype} · ${counted(scan.flats, "flat")}, ${counted(scan.darks, "dark")}${pixel}`;
}

interface Known {
  scan: ScanDescription | null;
  problem: RequestError | null;
}

function useScan(path: string, options: ScanOptions, onKnown: (scan: ScanDescription) => void): Known {
  const [known, setKnown] = useState<Known>({ scan: null, problem: null });
  const onFound = useEffectEvent((scan: ScanDescription) => {
    setKnown({ scan, problem: null });
    onKnown(scan);
  });
  useEffect(() => {
    let isWanted = true;
    describeScan(path, options).then(
      (scan) => (isWanted ? onFound(scan) : undefined),
      (error: unknown) => (isWanted && error instanceof RequestError ? setKnown((before) => ({ ...before, problem: error })) : undefined),
    );
    return () => {
      isWanted = false;
    };
  }, [path, options]);
  return known;
}
