// Everything that the page shows, as one value.
// Here: its type and initial value. Not here: how it changes (reducer.ts), where pixels are (connection/painter.ts).

import { FITTED, type SliceZoom } from "../geometry/sliceView";
import type { MovieKey } from "../movie/keys";
import type { Vector } from "../geometry/vector";
import type { PendingTitle, Title } from "./title";
import type {
  Camera,
  Change,
  ControlsStatus,
  CrossHair,
  Entry,
  FrameHeader,
  Hit,
  IdleStatus,
  LayerList,
  MeasureKind,
  Progress,
  RunningModel,
  Shading,
  SceneState,
  ShownTraining,
  SliceAxis,
  SliceHeader,
  TaskStatus,
  View,
  Welcome,
  ReconstructionDraft,
  WorkerStatus,
} from "../protocol";

/** The connection to the instance. retry_at_ms: when it is tried again, on the page's clock. */
export type ConnectionState =
  | { phase: "connecting" }
  | { phase: "open" }
  | { phase: "waiting"; what: string; remedy: string; retryAtMs: number }
  | { phase: "closed"; what: string; remedy: string };

/** side: slices beside the scene; four: all of the same size; slices: without the scene. */
export type Layout = "side" | "four" | "slices";
export type LayerKind = "volumes" | "points" | "meshes";
/** Of two scenes: side by side; one over the other up to a line; where their images differ. */
export type ComparedAs = "beside" | "swipe" | "difference";
export type Tool = "turn" | "paint" | "erase" | MeasureKind;

/** label: what is painted. radius: in voxels of the labels. isBall: in all directions, not only in the slice. isOnlyEmpty:
 * paint leaves other labels as they are; isOnlyLabel: the eraser removes this label only. */
export interface Brush {
  label: number;
  radius: number;
  isBall: boolean;
  isOnlyEmpty: boolean;
  isOnlyLabel: boolean;
}
/** scans: the files too, to choose a scan that is to be reconstructed. */
export type Drawer = "files" | "scans" | "shading" | "none";
export type Dialog = "help" | "capture" | "export" | "share" | "none";

export interface Chosen {
  kind: LayerKind;
  index: number;
}

/** A reconstruction. isOver: it has ended; status: how, once that is known. */
export interface Run {
  task: string;
  output: string;
  isWatched: boolean;
  isOver: boolean;
  status: TaskStatus | null;
}

/** opens: the path of something to open. */
export interface Notice {
  id: number;
  tone: "error" | "success" | "plain";
  what: string;
  remedy: string;
  link: string;
  opens: string;
}

export interface Interface {
  isPanelOpen: boolean;
  isQuiet: boolean;
  areStatisticsShown: boolean;
  areClipHandlesShown: boolean;
  isScaleShown: boolean;
  isLegendShown: boolean;
  tool: Tool;
  drawer: Drawer;
  /** The folder that was browsed last; empty where none was. */
  folder: string;
  /** The file in the drawer whose facts are shown. */
  chosenFile: Entry | null;
  dialog: Dialog;
  /** The scan that is about to be reconstructed, by its path; empty where there is none. */
  scan: string;
  /** The slice that takes the place of the scene and of the other two. */
  largeSlice: SliceAxis | null;
  /** How slices are arranged while there are any. */
  layout: Layout;
  /** Which part of each slice is in sight. */
  sliceZoom: Readonly<Record<SliceAxis, SliceZoom>>;
  areSlicePlanesShown: boolean;
  brush: Brush;
  chosen: Chosen;
  /** The label that was picked, and its layer. */
  label: { layer: number; label: number } | null;
  editedView: View;
  /** How two scenes are compared whose images lie over each other. */
  overlay: Exclude<ComparedAs, "beside">;
  /** Where the line between them is, in per cent of the width. */
  split: number;
  isTimelineOpen: boolean;
  /** Of the movie that is made. */
  movieKeys: readonly MovieKey[];
}

/** What the last frames cost, in milliseconds, stage by stage; total: from the input to the paint. */
export interface Timing {
  input: number;
  render: number;
  encode: number;
  wire: number;
  decode: number;
  paint: number;
  total: number;
}

export interface Shown {
  header: FrameHeader;
  timing: Timing;
  framesPerSecond: number;
}

export interface PageState {
  connection: ConnectionState;
  welcome: Welcome | null;
  server: SceneState | null;
  /** Changes that were sent, and changes that wait for the reply; the page already shows them. */
  sent: readonly Change[];
  sentRequest: string;
  queued: readonly Change[];
  camera: Camera | null;
  /** Of the scene that is edited. */
  layers: LayerList | null;
  /** Of each of two scenes side by side. */
  layersOf: Readonly<Partial<Record<View, LayerList>>>;
  /** Of the image that is painted, while titles wait for the images that they describe. */
  title: Title;
  pendingTitles: readonly PendingTitle[];
  shadings: readonly Shading[];
  /** Users' models whose volumes are in the scene. */
  models: readonly RunningModel[];
  /** The neural field that is being trained, if one is shown. */
  training: ShownTraining | null;
  controls: ControlsStatus | null;
  worker: WorkerStatus | null;
  tasks: Readonly<Record<string, Progress>>;
  /** By the path of the scan. */
  runs: Readonly<Record<string, Run>>;
  /** The draft of the reconstruction of a scan, by its path. */
  drafts: Readonly<Record<string, ReconstructionDraft>>;
  idle: (IdleStatus & { atMs: number }) | null;
  crossHair: CrossHair | null;
  hit: Hit | null;
  /** The slice that the pointer is on. */
  hitSlice: SliceAxis | null;
  /** Of the image that each slice shows. */
  sliceHeaders: Readonly<Partial<Record<SliceAxis, SliceHeader>>>;
  /** Of the measure that is being made. */
  measurePoints: readonly Vector[];
  notices: readonly Notice[];
  shown: Shown | null;
  interface: Interface;
}

export const BEGINNING: PageState = {
  connection: { phase: "connecting" },
  welcome: null,
  server: null,
  sent: [],
  sentRequest: "",
  queued: [],
  camera: null,
  layers: null,
  layersOf: {},
  title: { layers: null, transform: null },
  pendingTitles: [],
  shadings: [],
  models: [],
  training: null,
  controls: null,
  worker: null,
  tasks: {},
  runs: {},
  drafts: {},
  idle: null,
  crossHair: null,
  hit: null,
  hitSlice: null,
  sliceHeaders: {},
  measurePoints: [],
  notices: [],
  shown: null,
  interface: {
    isPanelOpen: true,
    isQuiet: false,
    areStatisticsShown: false,
    areClipHandlesShown: false,
    isScaleShown: true,
    isLegendShown: true,
    tool: "turn",
    drawer: "none",
    folder: "",
    chosenFile: null,
    dialog: "none",
    scan: "",
    largeSlice: null,
    layout: "side",
    sliceZoom: { z: FITTED, y: FITTED, x: FITTED, oblique: FITTED },
    areSlicePlanesShown: true,
    brush: { label: 1, radius: 4, isBall: false, isOnlyEmpty: false, isOnlyLabel: false },
    chosen: { kind: "volumes", index: 0 },
    label: null,
    editedView: "main",
    overlay: "swipe",
    split: 50,
    isTimelineOpen: false,
    movieKeys: [],
  },
};
