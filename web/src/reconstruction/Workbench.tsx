// From a scan to a volume: pictures of what goes in, the slice as it would be, the choices, and the run.
// Here: how they stand together. Not here: each of them.

import { useCallback, useEffect, useEffectEvent, useLayoutEffect, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { RequestRefused } from "../line/requests";
import { IconButton } from "../parts/Button";
import type { FoundAxis, ScanDescription, ScanOptions, Suggestion, Wish } from "../protocol";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";
import { Comparing } from "./Comparing";
import { PartsForm } from "./PartsForm";
import { Inputs, Slice, type Change } from "./Pictures";
import { describeScan, findAxis, partsOf } from "./requests";
import { Repeat, Running } from "./Running";
import { ScanSection } from "./ScanSection";
import { Settings } from "./Settings";
import { isBusy, refusalOf, TrialStore, type Trials } from "./trials";
import { changed, firstWish, NO_OPTIONS, withAxis } from "./wish";

/** Of a picture, whatever the screen: larger ones travel longer than they are worth. */
const LARGEST_EDGE = 2048;

export function Workbench({ path }: { path: string }): ReactNode {
  const session = useSession();
  const element = useRef<HTMLElement>(null);
  const [wish, setWish] = useState<Wish | null>(() => session.store.get().wishes[path] ?? null);
  const [options, setOptions] = useState<ScanOptions>(() => wish?.options ?? NO_OPTIONS);
  const { scan, refusal } = useScan(path, options, (known) => setWish((before) => (before ? { ...before, options } : firstWish(known, options))));
  const close = (): void => session.page({ scan: "" });
  useEffect(() => element.current?.focus(), []);
  useKept(path, wish);
  return (
    <section ref={element} className="workbench grows" aria-label="Reconstruction" tabIndex={-1}>
      <header className="bench-head">
        <div className="title">
          <h1>Reconstruct {path.slice(path.lastIndexOf("/") + 1)}</h1>
          <p className="hint number">{scan ? factsOf(scan) : refusal ? "not everything is known of it yet" : "opening…"}</p>
        </div>
        <IconButton icon="close" label="Close the reconstruction" shortcut="Esc" onClick={close} />
      </header>
      {scan && wish ? (
        <Bench path={path} scan={scan} wish={wish} setWish={setWish} onOptions={setOptions} problem={refusal} />
      ) : (
        <Missing path={path} options={options} refusal={refusal} onOptions={setOptions} />
      )}
    </section>
  );
}

interface MissingProps {
  path: string;
  options: ScanOptions;
  refusal: RequestRefused | null;
  onOptions: (options: ScanOptions) => void;
}

/** What has to be said before anything can be seen. */
function Missing({ path, options, refusal, onOptions }: MissingProps): ReactNode {
  const suggestion = useSuggestion(refusal ? path : "");
  if (!refusal || suggestion === "asked") return null;
  const isAsked = suggestion !== null && !suggestion.is_recognised;
  return (
    <div className="bench-missing">
      {isAsked && options === NO_OPTIONS ? null : <Problem problem={refusal} />}
      <div className="pane">{isAsked ? <PartsForm suggestion={suggestion} said={options} onSay={onOptions} /> : <ScanSection options={options} scan={null} onChange={onOptions} />}</div>
    </div>
  );
}

/** What the datasets of a file might be; null where it has none. */
function useSuggestion(path: string): Suggestion | "asked" | null {
  const [suggestion, setSuggestion] = useState<Suggestion | "asked" | null>("asked");
  useEffect(() => {
    if (!path) return undefined;
    let isWanted = true;
    const told = (found: Suggestion | null): void => (isWanted ? setSuggestion(found) : undefined);
    partsOf(path).then(told, () => told(null));
    return () => {
      isWanted = false;
    };
  }, [path]);
  return suggestion;
}

interface BenchProps {
  path: string;
  scan: ScanDescription;
  wish: Wish;
  setWish: (change: (before: Wish | null) => Wish | null) => void;
  onOptions: (options: ScanOptions) => void;
  problem: RequestRefused | null;
}

function Bench({ path, scan, wish, setWish, onOptions, problem }: BenchProps): ReactNode {
  const change: Change = useCallback((part) => setWish((before) => before && changed(before, typeof part === "function" ? part(before) : part)), [setWish]);
  const trials = useTrials(path, wish, setWish);
  useAxis(path, wish, setWish);
  const shared = { scan, wish, onChange: change };
  return (
    <div className={isBusy(trials) ? "bench is-busy" : "bench"}>
      <Inputs {...shared} trials={trials} />
      <div className="bench-middle">
        <Problem problem={problem ?? refusalOf(trials)} />
        <Slice {...shared} trials={trials} />
        <Comparing wish={wish} onChange={change} />
      </div>
      <div className="bench-panel pane">
        <div className="scrolls">
          <Settings path={path} slice={trials.pictures.slice} {...shared} />
          <ScanSection options={wish.options} scan={scan} onChange={onOptions} />
          <Repeat path={path} {...shared} />
        </div>
        <Running path={path} {...shared} />
      </div>
    </div>
  );
}

/** What is wished outlives this page: the viewer keeps it for the next one. */
function useKept(path: string, wish: Wish | null): void {
  const session = useSession();
  const client = useSelect((state) => state.welcome?.client);
  useEffect(() => {
    if (wish) session.store.dispatch({ type: "wish", scan: path, wish });
    // Said again to a viewer that welcomes the page anew: it may have been started again, and know nothing.
    if (client) session.send({ type: "set_up", scan: path, wish, is_open: true });
  }, [session, client, path, wish]);
  const close = useEffectEvent(() => void session.send({ type: "set_up", scan: path, wish, is_open: false }));
  // At once: whoever closes it may reload the page right after.
  useLayoutEffect(() => close, []);
}

/** Look for the axis thoroughly while the first guess is looked at; who moves it meanwhile keeps it. */
function useAxis(path: string, wish: Wish, setWish: BenchProps["setWish"]): void {
  const { axis, options } = wish;
  const session = useSession();
  const ask = useEffectEvent((said: ScanOptions) => findAxis(path, said, wish.recipe));
  useEffect(() => {
    if (axis !== "guessed") return undefined;
    let isWanted = true;
    void session.attempt(ask(options)).then((found) => {
      if (isWanted) setWish((before) => before && (before.axis !== "guessed" ? before : found ? withAxis(before, found, "found") : { ...before, axis: "chosen" }));
    });
    return () => {
      isWanted = false;
    };
  }, [session, axis, options, setWish]);
}

function useTrials(path: string, wish: Wish, setWish: BenchProps["setWish"]): Trials {
  const client = useSelect((state) => state.welcome?.client ?? "");
  const [store] = useState(() => {
    const found = (axis: FoundAxis): void => setWish((before) => before && withAxis(before, axis, before.axis));
    return new TrialStore(path, { client, edge: Math.min(LARGEST_EDGE, Math.round(innerHeight * devicePixelRatio)) }, found);
  });
  useEffect(() => store.show(wish, client), [store, wish, client]);
  useEffect(() => () => store.close(), [store]);
  return useSyncExternalStore(store.subscribe, store.get);
}

function Problem({ problem }: { problem: RequestRefused | null }): ReactNode {
  if (!problem) return null;
  return (
    <div className="bench-problem pane" role="alert">
      <p className="is-bad">{problem.what}</p>
      <p className="hint">{problem.remedy}</p>
    </div>
  );
}

function factsOf(scan: ScanDescription): string {
  const angles = `${scan.first_angle_deg.toFixed(1)}° to ${scan.last_angle_deg.toFixed(1)}°`;
  const pixel = scan.pixel_size_um ? ` · ${scan.pixel_size_um} µm` : "";
  return `${scan.kind} · ${scan.projections} views, ${angles} · ${scan.columns} × ${scan.rows} ${scan.dtype} · ${scan.flats} flats, ${scan.darks} darks${pixel}`;
}

interface Known {
  scan: ScanDescription | null;
  refusal: RequestRefused | null;
}

function useScan(path: string, options: ScanOptions, onKnown: (scan: ScanDescription) => void): Known {
  const [known, setKnown] = useState<Known>({ scan: null, refusal: null });
  const told = useEffectEvent((scan: ScanDescription) => {
    setKnown({ scan, refusal: null });
    onKnown(scan);
  });
  useEffect(() => {
    let isWanted = true;
    describeScan(path, options).then(
      (scan) => (isWanted ? told(scan) : undefined),
      (error: unknown) => (isWanted && error instanceof RequestRefused ? setKnown((before) => ({ ...before, refusal: error })) : undefined),
    );
    return () => {
      isWanted = false;
    };
  }, [path, options]);
  return known;
}
