// How the page's state changes. Here: one pure function. Not here: sending, drawing, timers (session/).

import type { Vector } from "../geometry/vector";
import type { Camera, Change, CrossHair, Hit, LayerList, Outgoing, Progress, ReconstructionRun, Reconstructions, ReconstructionDraft, SliceAxis, SliceHeader } from "../protocol";
import { merged } from "./scene";
import { withCover, withMessage, withNewTitle, withPaintedTitle } from "./title";
import type { Interface, ConnectionState, Notice, PageState, Run, Shown } from "./state";

export type Action =
  | { type: "connection"; connection: ConnectionState }
  | { type: "heard"; message: Outgoing; atMs: number }
  | { type: "queue"; changes: readonly Change[] }
  | { type: "send"; request: string }
  | { type: "resend" }
  | { type: "forget-changes" }
  | { type: "set_camera"; camera: Camera }
  | { type: "cut"; crossHair: CrossHair }
  | { type: "shown"; shown: Shown }
  | { type: "hit"; hit: Hit | null; slice?: SliceAxis | null }
  | { type: "slice-shown"; header: SliceHeader }
  | { type: "interface"; change: Partial<Interface> }
  | { type: "notice"; notice: Notice }
  | { type: "dismiss"; id: number }
  | { type: "dismiss-task"; task: string }
  | { type: "run"; scan: string; run: Run }
  | { type: "draft"; scan: string; draft: ReconstructionDraft }
  | { type: "measure-points"; points: readonly Vector[] };

const MAX_NOTICES = 4;

export function reduce(state: PageState, action: Action): PageState {
  switch (action.type) {
    case "connection":
      return { ...state, connection: action.connection };
    case "heard":
      return withMessage(heard(state, action.message, action.atMs), action.message);
    case "queue":
      return { ...state, queued: merged(state.queued, action.changes) };
    case "send":
      return { ...state, sent: state.queued, queued: [], sentRequest: action.request };
    case "resend":
      return { ...state, sent: [], queued: merged(state.sent, state.queued) };
    case "forget-changes":
      return { ...state, sent: [], queued: [] };
    case "set_camera":
      return { ...state, camera: action.camera };
    case "cut":
      return withCover({ ...state, crossHair: action.crossHair });
    case "shown":
      return withPaintedTitle({ ...state, shown: action.shown }, action.shown.header.revision);
    case "hit":
      return state.hit === action.hit && state.hitSlice === (action.slice ?? null) ? state : { ...state, hit: action.hit, hitSlice: action.slice ?? null };
    case "slice-shown":
      return { ...state, sliceHeaders: { ...state.sliceHeaders, [action.header.axis]: action.header } };
    case "interface":
      return withCover(withLayers({ ...state, interface: withPickedBrush({ ...state.interface, ...action.change }, action.change) }));
    case "notice":
      return { ...state, notices: [...state.notices.filter((one) => one.what !== action.notice.what), action.notice].slice(-MAX_NOTICES) };
    case "dismiss":
      return { ...state, notices: state.notices.filter((one) => one.id !== action.id) };
    case "dismiss-task":
      return { ...state, tasks: without(state.tasks, action.task) };
    case "run":
      return { ...state, runs: { ...state.runs, [action.scan]: action.run } };
    case "draft":
      return { ...state, drafts: { ...state.drafts, [action.scan]: action.draft } };
    case "measure-points":
      return { ...state, measurePoints: action.points };
  }
}

/** What is picked is painted. */
function withPickedBrush(page: Interface, { label }: Partial<Interface>): Interface {
  return label ? { ...page, brush: { ...page.brush, label: label.label } } : page;
}

function heard(state: PageState, message: Outgoing, atMs: number): PageState {
  switch (message.type) {
    case "welcome":
      // The instance may be a different one: its camera counts.
      return { ...state, welcome: message, tasks: {}, runs: ended(state.runs, () => true), camera: null };
    case "state":
      return withState(state, message);
    case "camera_moved":
      return { ...state, camera: message.camera };
    case "layers":
      return withLayerList(state, message);
    case "shadings":
      return { ...state, shadings: message.shadings };
    case "controls":
      return { ...state, controls: message };
    case "worker":
      return { ...state, worker: message };
    case "progress":
      return { ...state, tasks: withTask(state.tasks, message), runs: message.state === "running" ? state.runs : ended(state.runs, (task) => task === message.task) };
    case "idle":
      return { ...state, idle: { ...message, atMs } };
    case "cross_hair":
      // What this page sent is shown already, and may be older than what it shows now.
      return message.by !== "" && message.by === state.welcome?.client ? state : { ...state, crossHair: message };
    case "reconstructions":
      return withReconstructions(state, message);
    case "training":
      return { ...state, training: message.is_running ? message : null };
    case "models":
      return { ...state, models: message.models };
    case "shutting_down":
      return { ...state, connection: { phase: "closed", what: message.what, remedy: message.remedy } };
    case "proof":
    case "moved":
    case "error":
    case "probe_result":
      return state;
  }
}

function withLayerList(state: PageState, message: LayerList): PageState {
  const view = message.view ?? "main";
  const next = withChosen(withLayers({ ...state, layersOf: { ...state.layersOf, [view]: message } }));
  return view === "main" ? withNewTitle(state, next, message) : next;
}

/** The panel describes the scene that is edited. */
function withLayers(state: PageState): PageState {
  const { main = null, other } = state.layersOf;
  return { ...state, layers: state.interface.editedView === "other" && state.server?.other && other ? other : main };
}

type Server = NonNullable<PageState["server"]>;

function withState(state: PageState, server: Server): PageState {
  const isOpened = state.server?.scene.volumes[0]?.source !== server.scene.volumes[0]?.source;
  const next = {
    ...state,
    server,
    sent: server.request === state.sentRequest ? [] : state.sent,
    camera: state.camera === null || isOpened ? server.scene.camera : state.camera,
    measurePoints: isOpened ? [] : state.measurePoints,
  };
  return withChosen(withLayers(next));
}

/** A new page takes all drafts from the viewer; later, only runs are updated. */
function withReconstructions(state: PageState, { open, drafts, runs }: Reconstructions): PageState {
  const known = { ...state, runs: { ...state.runs, ...Object.fromEntries(runs.map((run) => [run.scan, runOf(run)])) } };
  if (state.server !== null) return known;
  const saved = Object.fromEntries(drafts.map(({ scan, draft }) => [scan, draft]));
  return { ...known, drafts: saved, interface: { ...state.interface, scan: open } };
}

function runOf({ output, is_watched: isWatched, status }: ReconstructionRun): Run {
  const isOver = status.state !== "running";
  return { task: status.task, output, isWatched, isOver, status: isOver ? status : null };
}

/** The selected layer may no longer exist. */
function withChosen(state: PageState): PageState {
  const { kind, index } = state.interface.chosen;
  const scene = state.server?.scene;
  if (!scene || scene[kind][index] !== undefined) return state;
  const first = (["volumes", "points", "meshes"] as const).find((one) => scene[one].length > 0) ?? "volumes";
  return { ...state, interface: { ...state.interface, chosen: { kind: first, index: 0 } } };
}

function withTask(tasks: PageState["tasks"], progress: Progress): PageState["tasks"] {
  const isOver = progress.state !== "running" && progress.url === "";
  return isOver ? without(tasks, progress.task) : { ...tasks, [progress.task]: progress };
}

function ended(runs: PageState["runs"], hasEnded: (task: string) => boolean): PageState["runs"] {
  return Object.fromEntries(Object.entries(runs).map(([scan, run]) => [scan, hasEnded(run.task) ? { ...run, isOver: true } : run]));
}

function without(tasks: PageState["tasks"], task: string): PageState["tasks"] {
  return Object.fromEntries(Object.entries(tasks).filter(([name]) => name !== task));
}
