import { describe, expect, it } from "vitest";
import { ACTIONS, actionFor, keyName, type Action } from "./actions";

const press = (key: string, held: Partial<KeyboardEvent> = {}) => keyName({ key, shiftKey: false, ctrlKey: false, metaKey: false, ...held });

describe("keys", () => {
  it("belong to one action each", () => {
    const keys = Object.values<Action>(ACTIONS).flatMap((action) => action.keys);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it.each([
    [press("ArrowUp", { shiftKey: true }), "Pan up"],
    [press("Z", { ctrlKey: true, shiftKey: true }), "Redo"],
    [press("z", { metaKey: true }), "Undo"],
    [press("?", { shiftKey: true }), "Help"],
    [press("+", { shiftKey: true }), "Zoom in"],
    [press("S"), "Slices"],
  ])("%s is %s", (key, name) => expect(actionFor(key)?.name).toBe(name));

  it("that mean nothing do nothing", () => expect(actionFor(press("j"))).toBeNull());
});
