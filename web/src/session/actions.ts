// What keys and buttons do. Here: every action once, with its name and keys, for the toolbar, the keyboard and the help.

import { fitCamera, restoreFirstView } from "../connection/requests";
import { lookingFromNext, moved, turned, zoomed } from "../geometry/camera";
import { isMeasureKind } from "../geometry/measuring";
import { middle, voxelInWorld } from "../geometry/slicePlace";
import { windowOf } from "../geometry/greyWindow";
import type { Camera, SliceLayer } from "../protocol";
import { nextRadius, paintedLayer } from "../slices/painting";
import { areSlicesShown, canControl, isComparing, isEmptyScene, isOwner, sceneOf } from "../state/selectors";
import type { ComparedAs, Layout, PageState } from "../state/state";
import { animateCamera } from "./cameraAnimation";
import { isNarrow, type Session } from "./session";

export interface Action {
  name: string;
  group: "View" | "Tools" | "Page";
  /** As `event.key` has them; "Shift+" and "Control+" before it. */
  keys: readonly string[];
  run: (session: Session) => void;
  isAllowed?: (state: PageState) => boolean;
}

const OBLIQUE = [0, 0.6, 0.8] as const;
const GREY = [
  [0, [0, 0, 0]],
  [1, [1, 1, 1]],
] as const;
const SOLID = [
  [0, 1],
  [1, 1],
] as const;
/** What to measure, and the list of measures, are in the panel. */
const PANEL_OPEN = { isPanelOpen: true } as const;
const TURN = 0.09;
const MOVE = 0.04;
const ZOOM = 0.9;

function look(change: (camera: Camera) => Camera): (session: Session) => void {
  return (session) => {
    const { camera } = session.store.get();
    if (camera) session.look(change(camera), true);
  };
}

const canControlScene = (state: PageState): boolean => canControl(state) && !isEmptyScene(state);
const canUseScene = (state: PageState): boolean => state.welcome?.capability !== "view" && !isEmptyScene(state);

const canPaint = (state: PageState): boolean => canControl(state) && paintedLayer(state) !== null;

const canCut = (state: PageState): boolean => canControl(state) && (state.layers?.layers.length ?? 0) > 0;

function lookAlong(axis: number): (session: Session) => void {
  return (session) => {
    const { camera } = session.store.get();
    if (camera) animateCamera(session, lookingFromNext(camera, axis));
  };
}

function toggle(part: "isPanelOpen" | "isQuiet" | "areStatisticsShown" | "areClipHandlesShown"): (session: Session) => void {
  return (session) => session.page({ [part]: !session.store.get().interface[part] });
}

export const ACTIONS = {
  turnLeft: { name: "Rotate left", group: "View", keys: ["ArrowLeft"], run: look((camera) => turned(camera, TURN, 0)), isAllowed: canControl },
  turnRight: { name: "Rotate right", group: "View", keys: ["ArrowRight"], run: look((camera) => turned(camera, -TURN, 0)), isAllowed: canControl },
  turnUp: { name: "Rotate up", group: "View", keys: ["ArrowUp"], run: look((camera) => turned(camera, 0, -TURN)), isAllowed: canControl },
  turnDown: { name: "Rotate down", group: "View", keys: ["ArrowDown"], run: look((camera) => turned(camera, 0, TURN)), isAllowed: canControl },
  moveLeft: { name: "Pan left", group: "View", keys: ["Shift+ArrowLeft"], run: look((camera) => moved(camera, -MOVE, 0)), isAllowed: canControl },
  moveRight: { name: "Pan right", group: "View", keys: ["Shift+ArrowRight"], run: look((camera) => moved(camera, MOVE, 0)), isAllowed: canControl },
  moveUp: { name: "Pan up", group: "View", keys: ["Shift+ArrowUp"], run: look((camera) => moved(camera, 0, -MOVE)), isAllowed: canControl },
  moveDown: { name: "Pan down", group: "View", keys: ["Shift+ArrowDown"], run: look((camera) => moved(camera, 0, MOVE)), isAllowed: canControl },
  nearer: { name: "Zoom in", group: "View", keys: ["+", "="], run: look((camera) => zoomed(camera, ZOOM)), isAllowed: canControl },
  farther: { name: "Zoom out", group: "View", keys: ["-"], run: look((camera) => zoomed(camera, 1 / ZOOM)), isAllowed: canControl },
  home: { name: "Reset the view", group: "View", keys: ["Home", "r"], run: (session) => void goHome(session), isAllowed: canControlScene },
  auto: { name: "Auto: the first colours, opacities and camera", group: "View", keys: ["a"], run: (session) => void session.attempt(restoreFirstView()), isAllowed: canControlScene },
  fromX: { name: "Look along x", group: "View", keys: ["x"], run: lookAlong(0), isAllowed: canControl },
  fromY: { name: "Look along y", group: "View", keys: ["y"], run: lookAlong(1), isAllowed: canControl },
  fromZ: { name: "Look along z", group: "View", keys: ["z"], run: lookAlong(2), isAllowed: canControl },
  undo: { name: "Undo", group: "Tools", keys: ["Control+z"], run: (session) => session.send({ type: "undo" }), isAllowed: (state) => canControl(state) && (state.server?.can_undo ?? false) },
  redo: { name: "Redo", group: "Tools", keys: ["Control+Shift+z", "Control+y"], run: (session) => session.send({ type: "redo" }), isAllowed: (state) => canControl(state) && (state.server?.can_redo ?? false) },
  files: { name: "Open a file", group: "Tools", keys: ["o"], run: toggleFiles, isAllowed: isOwner },
  slices: { name: "Slices", group: "Tools", keys: ["s"], run: toggleSlices, isAllowed: canCut },
  layoutScene: { name: "Layout: the scene alone", group: "View", keys: ["1"], run: (session) => setLayout(session, "scene"), isAllowed: canCut },
  layoutSide: { name: "Layout: slices beside the scene", group: "View", keys: ["2"], run: (session) => setLayout(session, "side"), isAllowed: canCut },
  layoutFour: { name: "Layout: four equal views", group: "View", keys: ["3"], run: (session) => setLayout(session, "four"), isAllowed: canCut },
  layoutSlices: { name: "Layout: slices alone", group: "View", keys: ["4"], run: (session) => setLayout(session, "slices"), isAllowed: canCut },
  oblique: { name: "Oblique slice", group: "Tools", keys: ["q"], run: toggleOblique, isAllowed: canCut },
  clip: { name: "Clipping handles", group: "Tools", keys: ["c"], run: toggle("areClipHandlesShown"), isAllowed: canControlScene },
  paint: { name: "Paint labels on slices", group: "Tools", keys: ["d"], run: (session) => toggleBrush(session, "paint"), isAllowed: canPaint },
  erase: { name: "Erase labels on slices", group: "Tools", keys: ["e"], run: (session) => toggleBrush(session, "erase"), isAllowed: canPaint },
  smallerBrush: { name: "Smaller brush", group: "Tools", keys: ["["], run: resizeBrush(-1), isAllowed: canPaint },
  largerBrush: { name: "Larger brush", group: "Tools", keys: ["]"], run: resizeBrush(1), isAllowed: canPaint },
  measure: { name: "Measure", group: "Tools", keys: ["m"], run: toggleMeasuring, isAllowed: canControlScene },
  compare: { name: "Compare two scenes", group: "Tools", keys: ["b"], run: toggleCompare, isAllowed: canControlScene },
  capture: { name: "Image or movie", group: "Tools", keys: ["p"], run: (session) => session.openDialog("capture"), isAllowed: canUseScene },
  timeline: { name: "Key frames of a movie", group: "Tools", keys: ["k"], run: toggleTimeline, isAllowed: canControlScene },
  share: { name: "Share", group: "Page", keys: [], run: (session) => session.openDialog("share"), isAllowed: isOwner },
  statistics: { name: "Statistics", group: "Page", keys: ["i"], run: toggle("areStatisticsShown") },
  panel: { name: "Panel", group: "Page", keys: ["\\"], run: toggle("isPanelOpen") },
  quiet: { name: "Hide everything but the image", group: "Page", keys: ["f"], run: toggle("isQuiet") },
  help: { name: "Help", group: "Page", keys: ["?"], run: (session) => session.openDialog("help") },
  close: { name: "Close or cancel", group: "Page", keys: ["Escape"], run: closeAll },
} as const satisfies Record<string, Action>;

export type ActionName = keyof typeof ACTIONS;

export const actionOf = (name: ActionName): Action => ACTIONS[name];

/** A key as the table above writes it. */
export function keyName(event: Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey">): string {
  const isLetter = event.key.length === 1;
  const parts = [event.ctrlKey || event.metaKey ? "Control+" : "", event.shiftKey && (!isLetter || event.ctrlKey || event.metaKey) ? "Shift+" : ""];
  return parts.join("") + (isLetter ? event.key.toLowerCase() : event.key);
}

export function actionFor(key: string): Action | null {
  return Object.values<Action>(ACTIONS).find((action) => action.keys.includes(key)) ?? null;
}

export const mayRun = (action: Action, state: PageState): boolean => action.isAllowed?.(state) ?? true;

/** All that is shown, from the side of the first view. */
async function goHome(session: Session): Promise<void> {
  const fitted = await session.attempt(fitCamera({ aspect: session.aspect }));
  if (fitted) animateCamera(session, fitted.camera);
}

function toggleFiles(session: Session): void {
  session.page({ drawer: session.store.get().interface.drawer === "files" ? "none" : "files" });
}

function toggleSlices(session: Session): void {
  const state = session.store.get();
  const layer = state.layers?.layers[0];
  if (areSlicesShown(state)) session.cut(null);
  else if (layer) session.cut(middle(layer.shape));
}

export function setLayout(session: Session, layout: Layout | "scene"): void {
  const state = session.store.get();
  if (layout === "scene") return session.cut(null);
  session.page({ layout, largeSlice: null });
  if (!areSlicesShown(state)) toggleSlices(session);
}

/** A plane through the cross-hair, between the slices; or none. */
function toggleOblique(session: Session): void {
  const state = session.store.get();
  const scene = sceneOf(state);
  const [layer, description] = [scene?.volumes[0], state.layers?.layers[0]];
  if (!scene || !layer || !description) return;
  if (scene.slices.length > 0) return session.set(["slices", 0], null);
  const voxel = state.crossHair?.voxel ?? middle(description.shape);
  const slice: SliceLayer = {
    source: layer.source,
    point: voxelInWorld(description, layer.transform, voxel),
    normal: OBLIQUE,
    transfer: { ...layer.transfer, colors: GREY, opacities: SOLID, gamma: 1, edges: null, is_preintegrated: false, value_range: windowOf({ ...layer.slice_options[0], window: null }, layer, description) },
    opacity: 1,
    is_solid: true,
    labels: layer.labels,
    clip: null,
    transform: layer.transform,
    is_visible: false,
    slice_options: layer.slice_options[0],
  };
  session.set(["slices", 0], slice);
  if (!areSlicesShown(state)) toggleSlices(session);
}

function toggleBrush(session: Session, tool: "paint" | "erase"): void {
  const state = session.store.get();
  const painted = paintedLayer(state);
  if (!painted) return;
  session.page({ tool: state.interface.tool === tool ? "turn" : tool, chosen: { kind: "volumes", index: painted.index } });
  if (!areSlicesShown(state)) toggleSlices(session);
}

function resizeBrush(way: number): (session: Session) => void {
  return (session) => {
    const { brush } = session.store.get().interface;
    session.page({ brush: { ...brush, radius: nextRadius(brush.radius, way) } });
  };
}

function toggleMeasuring(session: Session): void {
  const isOn = isMeasureKind(session.store.get().interface.tool);
  session.store.dispatch({ type: "measure-points", points: [] });
  session.page({ tool: isOn ? "turn" : "distance", ...(isOn ? {} : PANEL_OPEN) });
}

function toggleCompare(session: Session): void {
  const isOn = isComparing(session.store.get());
  session.page({ editedView: "main" });
  session.send({ type: "compare", is_on: !isOn });
}

export function compareAs(session: Session, compared: ComparedAs): void {
  if (compared !== "beside") session.page({ overlay: compared });
  session.send({ type: "arrange", arrangement: compared === "beside" ? "beside" : "over" });
}

/** In a narrow window there is no room for the panel beside it. */
export function openTimeline(session: Session): void {
  session.page({ isTimelineOpen: true, dialog: "none", ...(isNarrow() ? { isPanelOpen: false } : {}) });
}

function toggleTimeline(session: Session): void {
  if (session.store.get().interface.isTimelineOpen) session.page({ isTimelineOpen: false });
  else openTimeline(session);
}

function closeAll(session: Session): void {
  if (session.store.get().measurePoints.length > 0) return session.store.dispatch({ type: "measure-points", points: [] });
  session.page({ drawer: "none", chosenFile: null, dialog: "none", scan: "", tool: "turn", isQuiet: false });
  session.enlargeSlice(null);
}
