// The session of a page: connects the socket, the painter and the store.
// Here: what a user can do, as methods. Not here: how it looks (view/, panels/), how it is sent (connection/).

import { createContext, useContext } from "react";
import { NAMES, type Voxel } from "../geometry/slicePlace";
import type { SliceZoom } from "../geometry/sliceView";
import type { ShownSlice } from "../slices/shownSlice";
import { Painter, type Painted } from "../connection/painter";
import { SliceImages } from "../connection/sliceImages";
import { unpack } from "../connection/packet";
import { supportedEncodings } from "../connection/decoder";
import type { Access } from "../connection/access";
import { AccessDenied } from "../connection/pageSession";
import { openLink } from "../connection/requests";
import { RequestError } from "../connection/requestError";
import { Socket } from "../connection/socket";
import type { Axis, Camera, Change, Encoding, Hit, Incoming, Outgoing, ErrorMessage, SliceAxis, SliceOptions, View } from "../protocol";
import { MAX_EDGE, VERSION } from "../protocol";
import type { Dialog, Interface, Notice } from "../state/state";
import type { Store } from "../state/store";
import { json, type Path } from "../state/scene";
import { comparedAs } from "../state/selectors";
import { SliceSender, CameraSender } from "./cameraSender";
import { type CarriedDraft, draftIn, withDraft } from "./carriedDraft";
import { SceneEditor } from "./sceneEditor";
import { ProbeQueue } from "./probeQueue";
import { SliceViewSender } from "./sliceViewSender";

const RATE_WINDOW_MS = 1000;
const NOTICE_MS = 7000;

export class Session {
  readonly painter: Painter;
  readonly sliceImages: SliceImages;
  readonly sliceViews: SliceViewSender;
  private readonly socket: Socket;
  private readonly sceneEditor: SceneEditor;
  private readonly cameraSender: CameraSender;
  private readonly sliceSender: SliceSender;
  private readonly probeQueue: ProbeQueue;
  private encodings: readonly Encoding[] = ["jpeg", "png"];
  private size = { width: 1280, height: 720 };
  private paintedAtMs: number[] = [];
  private wantedOnSlice: { axis: SliceAxis; u: number; v: number } | null = null;
  private noticeCount = 0;
  private carried: CarriedDraft | null = null;

  constructor(
    readonly store: Store,
    private readonly access: Access,
  ) {
    this.painter = new Painter({
      onPainted: (painted) => this.painted(painted),
      onSlice: (header, image) => void this.sliceImages.receive(header, image),
      onLost: () => this.send({ type: "key_frame" }),
    });
    this.socket = new Socket(
      {
        onConnection: (connection) => store.dispatch({ type: "connection", connection }),
        onOpen: (proof) => this.greet(proof),
        onText: (message) => this.hear(message),
        onBytes: (bytes) => void this.painter.receive(unpack(bytes), performance.now()),
      },
      {
        connect: (address) => new WebSocket(address),
        fetch: (address) => fetch(address),
        later: (act, ms) => window.setTimeout(act, ms),
        never: (timer) => window.clearTimeout(timer),
        now: () => performance.now(),
        go: (address) => location.replace(this.withOpenDraft(address)),
        address: document.baseURI,
      },
      access,
    );
    this.sceneEditor = new SceneEditor(store, (message) => this.send(message));
    this.cameraSender = new CameraSender((message) => this.send(message));
    this.sliceSender = new SliceSender((message) => this.send(message));
    this.sliceViews = new SliceViewSender((message) => this.send(message));
    this.sliceImages = new SliceImages((header, isDecoded) => {
      this.send({ type: "acknowledge_slice", axis: header.axis, number: header.number, view: header.view });
      if (isDecoded) store.dispatch({ type: "slice-shown", header });
    });
    this.probeQueue = new ProbeQueue((message) => this.send(message));
  }

  async start(): Promise<void> {
    // There it would cover the scene.
    if (isNarrow()) {
      this.page({ isPanelOpen: false });
      // Turned, or made wider: now it has room beside the scene.
      matchMedia(NARROW).addEventListener("change", () => this.page({ isPanelOpen: true }), { once: true });
    }
    this.encodings = await supportedEncodings();
    this.carried = draftIn(this.access.fragment);
    try {
      await this.access.open();
    } catch (error) {
      if (!(error instanceof AccessDenied)) throw error;
      this.store.dispatch({ type: "connection", connection: { phase: "closed", what: error.what, remedy: error.remedy } });
      return;
    }
    this.socket.open();
    if (this.access.state) void this.attempt(openLink(this.access.state));
    // After a tab or a machine was asleep, reconnect at once.
    addEventListener("online", () => this.reconnect());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.reconnect();
    });
  }

  reconnect(): void {
    if (this.store.get().connection.phase === "waiting") this.socket.open();
  }

  send(message: Incoming): boolean {
    return this.socket.send(message);
  }

  resize(width: number, height: number): void {
    const ratio = Math.min(devicePixelRatio, MAX_EDGE / Math.max(width, height, 1));
    const size = { width: Math.max(1, Math.round(width * ratio)), height: Math.max(1, Math.round(height * ratio)) };
    if (size.width === this.size.width && size.height === this.size.height) return;
    this.size = size;
    this.send({ type: "resize", ...size });
  }

  /** Width of the image of a scene over its height. */
  get aspect(): number {
    return this.size.width / (comparedAs(this.store.get()) === "beside" ? 2 : 1) / this.size.height;
  }

  look(camera: Camera, isMoving: boolean): void {
    this.store.dispatch({ type: "set_camera", camera });
    this.cameraSender.look(camera, isMoving);
  }

  /** Show the three slices through a voxel of a layer; null hides them. The cross-hair is shown before the images arrive. */
  cut(voxel: Voxel | null, layer = 0): void {
    const by = this.store.get().welcome?.client ?? "";
    this.store.dispatch({ type: "cut", crossHair: { type: "cross_hair", voxel, layer, by } });
    if (voxel === null) this.probeSlice(null, 0, 0);
    this.sliceSender.cut({ type: "slices", voxel, layer });
  }

  /** Show one slice in place of everything else; null shows all three beside the scene. */
  enlargeSlice(axis: SliceAxis | null): void {
    if (this.store.get().interface.largeSlice !== axis) this.page({ largeSlice: axis });
  }

  /** Show another part of a slice. */
  zoomSlice(axis: SliceAxis, zoom: SliceZoom): void {
    this.page({ sliceZoom: { ...this.store.get().interface.sliceZoom, [axis]: zoom } });
  }

  /** How a slice is shown. An oblique one has its window in the scene, too. */
  setSlice<Name extends keyof SliceOptions>(slice: ShownSlice, name: Name, value: SliceOptions[Name], isMoving = false): void {
    if (slice.axis !== "oblique") return this.set(["volumes", slice.layer, "slice_options", NAMES.indexOf(slice.axis as Axis), name], value, isMoving);
    const changes: Change[] = [{ path: ["slices", 0, "slice_options", name], value: json(value) }];
    const range = name === "window" ? ((value as SliceOptions["window"]) ?? slice.range) : null;
    if (range) changes.push({ path: ["slices", 0, "transfer", "value_range"], value: json(range) });
    return this.change(changes, isMoving);
  }

  /** What is under the pointer on a slice; null: it is on none. One question at a time; the last place is always asked. */
  probeSlice(axis: SliceAxis | null, u: number, v: number): void {
    const isOn = axis !== null && u >= 0 && u <= 1 && v >= 0 && v <= 1;
    this.wantedOnSlice = isOn ? { axis, u, v } : null;
    if (!isOn) return this.store.dispatch({ type: "hit", hit: null });
    if (this.isProbing) return;
    const wanted = this.wantedOnSlice;
    void this.askSlice(axis, u, v).then((hit) => {
      if (this.wantedOnSlice === null) return;
      this.store.dispatch({ type: "hit", hit, slice: axis });
      if (this.wantedOnSlice !== wanted) this.probeSlice(this.wantedOnSlice.axis, this.wantedOnSlice.u, this.wantedOnSlice.v);
    });
  }

  askSlice(axis: SliceAxis, u: number, v: number): Promise<Hit | null> {
    return this.probeQueue.ask({ type: "probe_slice", axis, x: u, y: v });
  }

  /** Set a property of the scene. isMoving: a control is being dragged, and more changes will follow. */
  set(path: Path, value: unknown, isMoving = false): void {
    this.change([{ path, value: json(value) }], isMoving);
  }

  change(changes: readonly Change[], isMoving = false): void {
    this.sceneEditor.change(changes, isMoving);
  }

  probe(x: number, y: number, view: View): Promise<Hit | null> {
    return this.probeQueue.ask({ type: "probe", x, y, view });
  }

  get isProbing(): boolean {
    return this.probeQueue.isBusy;
  }

  page(change: Partial<Interface>): void {
    this.store.dispatch({ type: "interface", change });
  }

  openDialog(dialog: Dialog): void {
    this.page({ dialog });
  }

  /** Show a notification for a while; returns a function that removes it earlier. */
  notify(tone: Notice["tone"], what: string, remedy = "", link = "", opens = ""): () => void {
    const id = ++this.noticeCount;
    const dismiss = (): void => this.store.dispatch({ type: "dismiss", id });
    this.store.dispatch({ type: "notice", notice: { id, tone, what, remedy, link, opens } });
    if (link === "" && opens === "") setTimeout(dismiss, NOTICE_MS);
    return dismiss;
  }

  /** Run a request; an error is shown to the user, and the result is null. */
  async attempt<Answer>(act: Promise<Answer>): Promise<Answer | null> {
    try {
      return await act;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.notify("error", error.what, error.remedy);
      return null;
    }
  }

  private greet(proof: string): void {
    this.painter.reset();
    this.probeQueue.forget();
    this.sceneEditor.reset();
    this.sliceImages.clear();
    this.send({ type: "hello", version: VERSION, proof, ...this.size, encodings: [...this.encodings] });
  }

  private hear(message: Outgoing): void {
    const { crossHair } = this.store.get();
    this.store.dispatch({ type: "heard", message, atMs: performance.now() });
    if (message.type === "state") this.sceneEditor.answered(message.request);
    else if (message.type === "probe_result") this.probeQueue.answered(message);
    else if (message.type === "error") this.refused(message);
    else if (message.type === "welcome") {
      this.painter.clock.observe(message.clock_at_ms, performance.now());
      // A restarted instance does not know our slices.
      if (crossHair?.voxel) this.cut(crossHair.voxel, crossHair.layer);
      this.sliceViews.resend();
    } else if (message.type === "reconstructions" && this.carried) {
      // A viewer that was restarted does not know it; in one that runs it may have been closed.
      const { scan, draft } = this.carried;
      this.carried = null;
      if (draft) this.store.dispatch({ type: "draft", scan, draft });
      this.page({ scan });
    }
  }

  private withOpenDraft(address: string): string {
    const { drafts, interface: shown } = this.store.get();
    return withDraft(address, shown.scan, drafts[shown.scan]);
  }

  private refused(refusal: ErrorMessage): void {
    // A probe that failed while something else changed is not reported.
    if (refusal.request.startsWith("probe-")) return this.probeQueue.answered({ type: "probe_result", request: refusal.request, hit: null });
    if (this.sceneEditor.refused(refusal)) this.notify("error", refusal.what, refusal.remedy);
  }

  private painted({ header, timing }: Painted): void {
    this.send({ type: "acknowledge", number: header.number, decode_ms: timing.decode, paint_ms: timing.paint });
    const now = performance.now();
    if (header.view === "main") {
      this.paintedAtMs = [...this.paintedAtMs.filter((at) => now - at < RATE_WINDOW_MS), now];
      this.store.dispatch({ type: "shown", shown: { header, timing, framesPerSecond: this.paintedAtMs.length } });
    }
  }
}

/** As in the style sheets: the panel opens over the scene, slices are below it. */
const NARROW = "(max-width: 760px)";
export const isNarrow = (): boolean => matchMedia(NARROW).matches;

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("Components live inside SessionContext.");
  return session;
}
