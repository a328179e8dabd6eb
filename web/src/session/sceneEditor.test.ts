import { describe, expect, it } from "vitest";
import type { Patch, ErrorMessage } from "../protocol";
import { sceneOf } from "../state/selectors";
import { createStore } from "../state/store";
import { STATE } from "../testing/examples";
import { SceneEditor } from "./sceneEditor";

function setUp() {
  const store = createStore();
  store.dispatch({ type: "heard", message: STATE, atMs: 0 });
  const sent: Patch[] = [];
  const sceneEditor = new SceneEditor(store, (message) => sent.push(message) > 0);
  const answer = (revision: number): void => {
    store.dispatch({ type: "heard", message: { ...STATE, revision, request: sent.at(-1)?.request ?? "" }, atMs: 0 });
    sceneEditor.answered(sent.at(-1)?.request ?? "");
  };
  return { store, sent, sceneEditor, answer };
}

const ambient = (value: number) => [{ path: ["light", "ambient"], value }];
const refusal = (request: string, revision: number): ErrorMessage => ({ what: "No.", remedy: "", revision, request, line: 0, type: "error" });

describe("the scene editor", () => {
  it("sends one at a time, and merges what comes meanwhile", () => {
    const { sent, sceneEditor, answer } = setUp();
    for (const value of [0.1, 0.2, 0.3]) sceneEditor.change(ambient(value), true);
    expect(sent.map((one) => one.changes)).toEqual([ambient(0.1)]);
    answer(5);
    expect(sent.map((one) => [one.revision, one.changes])).toEqual([[4, ambient(0.1)], [5, ambient(0.3)]]);
  });

  it("tries again when another client was faster", () => {
    const { sent, sceneEditor, store } = setUp();
    sceneEditor.change(ambient(0.1), false);
    store.dispatch({ type: "heard", message: { ...STATE, revision: 6 }, atMs: 0 });
    expect(sceneEditor.refused(refusal(sent[0]?.request ?? "", 6))).toBe(false);
    expect(sent.map((one) => [one.revision, one.changes])).toEqual([[4, ambient(0.1)], [6, ambient(0.1)]]);
  });

  it("goes back to what the instance has when a change is impossible", () => {
    const { sent, sceneEditor, store } = setUp();
    sceneEditor.change(ambient(7), false);
    expect(sceneEditor.refused(refusal(sent[0]?.request ?? "", 4))).toBe(true);
    expect(sceneOf(store.get())?.light.ambient).toBe(0.25);
  });

  it("keeps changes over a broken line", () => {
    const { sent, sceneEditor, answer } = setUp();
    sceneEditor.change(ambient(0.1), false);
    sceneEditor.reset();
    answer(9);
    expect(sent.at(-1)).toMatchObject({ revision: 9, changes: ambient(0.1) });
  });
});
