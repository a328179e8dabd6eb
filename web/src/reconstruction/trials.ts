// The pictures of a wish. Here: asking for those that a change touches, and what came of it. Not here: how they look.

import type { RequestRefused } from "../line/requests";
import type { FoundAxis, TrialPlace, TrialRequest, Wish } from "../protocol";
import { Trier, type Fetch, type Trial } from "./trier";
import { trialOf } from "./wish";

const PLACES = ["projection", "sinogram", "slice"] as const;

type Each<Value> = Partial<Record<TrialPlace, Value>>;

export interface Trials {
  readonly pictures: Each<Trial>;
  readonly refusals: Each<RequestRefused | null>;
  readonly busy: Each<boolean>;
}

export const refusalOf = ({ refusals }: Trials): RequestRefused | null => PLACES.map((place) => refusals[place]).find(Boolean) ?? null;
export const isBusy = ({ busy }: Trials): boolean => Object.values(busy).some(Boolean);

/** onAxis: told where the axis is, when it was looked for. */
export class TrialStore {
  private trials: Trials = { pictures: {}, refusals: {}, busy: {} };
  private wish: Wish | null = null;
  private readonly asked = new Map<TrialPlace, string>();
  private readonly listeners = new Set<() => void>();
  private readonly trier: Trier;

  constructor(
    private readonly path: string,
    private common: Required<Pick<TrialRequest, "client" | "edge">>,
    private readonly onAxis: (axis: FoundAxis) => void,
    fetch?: Fetch,
  ) {
    const listener = {
      onTrial: (place: TrialPlace, trial: Trial) => this.came(place, trial),
      onRefused: (place: TrialPlace, refusal: RequestRefused | null) => this.set({ refusals: { ...this.trials.refusals, [place]: refusal } }),
      onBusy: (place: TrialPlace, isIt: boolean) => this.set({ busy: { ...this.trials.busy, [place]: isIt } }),
    };
    this.trier = fetch ? new Trier(listener, fetch) : new Trier(listener);
  }

  readonly get = (): Trials => this.trials;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Ask for what is another picture than before; for all of them where the line was lost meanwhile. */
  show(wish: Wish, client: string): void {
    if (client !== this.common.client) this.asked.clear();
    this.common = { ...this.common, client };
    this.wish = wish;
    for (const place of PLACES) {
      const request = trialOf(place, this.path, wish);
      // What a slice is compared with follows it.
      const key = JSON.stringify([request, place === "slice" ? wish.compare : ""]);
      if (!request || this.asked.get(place) === key) continue;
      this.asked.set(place, key);
      this.trier.want({ ...request, ...this.common });
    }
  }

  close(): void {
    this.asked.clear();
    this.trier.close();
  }

  private came(place: TrialPlace, trial: Trial): void {
    this.set({ pictures: { ...this.trials.pictures, [place]: trial } });
    if (place !== "slice" || !this.wish) return;
    const { center, slope, low, high } = trial.header;
    if (center !== null && slope !== null && typeof this.wish.recipe.center === "string") return this.onAxis({ center, slope });
    const before = trialOf("before", this.path, this.wish);
    if (before) this.trier.ask({ request: { ...before, ...this.common, window: [low, high] }, isExact: trial.isExact });
  }

  private set(change: Partial<Trials>): void {
    this.trials = { ...this.trials, ...change };
    for (const listener of this.listeners) listener();
  }
}
