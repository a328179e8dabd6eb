// The images of a draft. Here: requesting those that a change affects, and the results. Not here: how they look.

import type { RequestError } from "../connection/requestError";
import type { AxisResult, PreviewPosition, PreviewRequest, ReconstructionDraft } from "../protocol";
import type { GreyWindow } from "../geometry/greyWindow";
import { PreviewQueue, type Fetch, type Preview } from "./previewQueue";
import { previewRequestOf } from "./draft";

const PLACES = ["projection", "sinogram", "slice"] as const;

type Each<Value> = Partial<Record<PreviewPosition, Value>>;

export interface Previews {
  readonly images: Each<Preview>;
  readonly errors: Each<RequestError | null>;
  readonly busy: Each<boolean>;
}

export const errorOf = ({ errors }: Previews): RequestError | null => PLACES.map((place) => errors[place]).find(Boolean) ?? null;
export const isBusy = ({ busy }: Previews): boolean => Object.values(busy).some(Boolean);

/** How the slice is looked at. window: the chosen one. edge: pixels of an image, at most. */
interface SliceView {
  window?: GreyWindow | null;
  edge?: number;
}

/** onAxis: called with the axis, where it was searched for. */
export class PreviewStore {
  private previews: Previews = { images: {}, errors: {}, busy: {} };
  private draft: ReconstructionDraft | null = null;
  private window: GreyWindow | null = null;
  private readonly requested = new Map<PreviewPosition, string>();
  private readonly listeners = new Set<() => void>();
  private readonly queue: PreviewQueue;

  constructor(
    private readonly path: string,
    private common: Required<Pick<PreviewRequest, "client" | "edge">>,
    private readonly onAxis: (axis: AxisResult) => void,
    fetch?: Fetch,
  ) {
    const listener = {
      onPreview: (place: PreviewPosition, preview: Preview) => this.onPreview(place, preview),
      onError: (place: PreviewPosition, error: RequestError | null) => this.set({ errors: { ...this.previews.errors, [place]: error } }),
      onBusy: (place: PreviewPosition, isIt: boolean) => this.set({ busy: { ...this.previews.busy, [place]: isIt } }),
    };
    this.queue = fetch ? new PreviewQueue(listener, fetch) : new PreviewQueue(listener);
  }

  readonly get = (): Previews => this.previews;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Request the images that changed; all of them after a lost connection. */
  show(draft: ReconstructionDraft, client: string, { window = null, edge = this.common.edge }: SliceView = {}): void {
    if (client !== this.common.client || edge !== this.common.edge) this.requested.clear();
    this.common = { client, edge };
    this.draft = draft;
    this.window = window;
    for (const place of PLACES) {
      const request = previewRequestOf(place, this.path, draft);
      // The slice to compare with is requested after it.
      const key = JSON.stringify([request, place === "slice" ? draft.compare : ""]);
      if (!request || this.requested.get(place) === key) continue;
      this.requested.set(place, key);
      this.queue.want({ ...request, ...this.common, window: place === "slice" ? window : null });
    }
  }

  close(): void {
    this.requested.clear();
    this.queue.close();
  }

  private onPreview(place: PreviewPosition, preview: Preview): void {
    this.set({ images: { ...this.previews.images, [place]: preview } });
    if (place !== "slice" || !this.draft) return;
    const { center, slope } = preview.header;
    const [low, high] = this.window ?? [preview.header.low, preview.header.high];
    if (center !== null && slope !== null && typeof this.draft.recipe.center === "string") return this.onAxis({ center, slope });
    const before = previewRequestOf("before", this.path, this.draft);
    if (before) this.queue.ask({ request: { ...before, ...this.common, window: [low, high] }, isExact: preview.isExact });
  }

  private set(change: Partial<Previews>): void {
    this.previews = { ...this.previews, ...change };
    for (const listener of this.listeners) listener();
  }
}
