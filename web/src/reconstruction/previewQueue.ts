// Requests for previews. Here: one at a time for each place, the latest wins: rough at once, exact at rest.
// Not here: what is requested (draft.ts), how previews are shown (PreviewImages.tsx).

import { unpackAs } from "../connection/packet";
import { ask } from "../connection/requests";
import { RequestError } from "../connection/requestError";
import { greyImageOf, painted, type GreyImage } from "./greyImage";
import type { Recipe, PreviewHeader, PreviewPosition, PreviewRequest } from "../protocol";

const REST_MS = 160;
/** For slices, a rough one is shown first. */
const ROUGH: readonly PreviewPosition[] = ["slice", "before"];

export interface Preview {
  header: PreviewHeader;
  image: ImageBitmap;
  /** Its values, of an exact slice. */
  grey?: GreyImage | undefined;
  isExact: boolean;
  /** The recipe that it was requested with. */
  recipe: Recipe;
}

interface PreviewListener {
  onPreview: (place: PreviewPosition, preview: Preview) => void;
  /** null: nothing is wrong any more. */
  onError: (place: PreviewPosition, error: RequestError | null) => void;
  onBusy: (place: PreviewPosition, isBusy: boolean) => void;
}

export type Fetch = (request: PreviewRequest, signal: AbortSignal) => Promise<Pick<Preview, "header" | "image" | "grey">>;

interface QueuedRequest {
  request: PreviewRequest;
  isExact: boolean;
}

export class PreviewQueue {
  private readonly running = new Map<PreviewPosition, { queued: QueuedRequest; abort: AbortController }>();
  private readonly next = new Map<PreviewPosition, QueuedRequest>();
  private count = 0;
  private readonly resting = new Map<PreviewPosition, ReturnType<typeof setTimeout>>();

  constructor(
    private readonly listener: PreviewListener,
    private readonly fetch: Fetch = fetchPreview,
  ) {}

  /** Show a rough preview soon, then the exact one. */
  want(request: PreviewRequest): void {
    const { place } = request;
    clearTimeout(this.resting.get(place));
    if (!ROUGH.includes(place)) return this.ask({ request, isExact: true });
    this.ask({ request, isExact: false });
    this.resting.set(
      place,
      setTimeout(() => this.ask({ request, isExact: true }), REST_MS),
    );
  }

  /** This place is no longer shown. */
  forget(place: PreviewPosition): void {
    clearTimeout(this.resting.get(place));
    this.next.delete(place);
    this.running.get(place)?.abort.abort();
    this.running.delete(place);
  }

  close(): void {
    for (const place of new Set([...this.resting.keys(), ...this.running.keys()])) this.forget(place);
  }

  /** Show the exact preview. */
  ask(queued: QueuedRequest): void {
    const { place } = queued.request;
    const now = this.running.get(place);
    // A rough preview in progress is finished, because it is quick and shows the movement. An exact one is cancelled.
    if (now && !now.queued.isExact) {
      this.next.set(place, queued);
      return;
    }
    now?.abort.abort();
    const abort = new AbortController();
    this.running.set(place, { queued, abort });
    this.listener.onBusy(place, true);
    void this.run(queued, abort);
  }

  private async run(queued: QueuedRequest, abort: AbortController): Promise<void> {
    const { place } = queued.request;
    try {
      const preview = await this.fetch({ ...queued.request, is_moving: !queued.isExact, is_deep: ROUGH.includes(place), number: ++this.count }, abort.signal);
      if (abort.signal.aborted) return;
      this.listener.onPreview(place, { ...preview, isExact: queued.isExact, recipe: queued.request.recipe });
      this.listener.onError(place, null);
    } catch (error) {
      if (abort.signal.aborted) return;
      if (!(error instanceof RequestError)) throw error;
      this.listener.onError(place, error);
    }
    this.running.delete(place);
    const next = this.next.get(place);
    this.next.delete(place);
    if (next) this.ask(next);
    else this.listener.onBusy(place, false);
  }
}

async function fetchPreview(request: PreviewRequest, signal: AbortSignal): ReturnType<Fetch> {
  const answer = await ask("api/scans/preview", "POST", JSON.stringify(request), signal);
  const { header, image } = unpackAs<PreviewHeader>(await answer.arrayBuffer());
  if (header.encoding === "grey16") {
    const grey = greyImageOf(header, image);
    return { header, image: await createImageBitmap(painted(grey, [header.low, header.high])), grey };
  }
  return { header, image: await createImageBitmap(new Blob([image], { type: `image/${header.encoding}` })) };
}
