import { describe, expect, it } from "vitest";
import { project, visibleHeight } from "../geometry/camera";
import { SCENE } from "../testing/examples";
import { dragged, fraction, pinched, wheeled } from "./gestures";

const FRAME = { left: 100, top: 50, width: 800, height: 400 };
const FREE = { buttons: 1, isShift: false, isControl: false, isAlt: false };
const { camera } = SCENE;

describe("gestures", () => {
  it("a drag over the whole height turns by half a turn", () => {
    const { position } = dragged(camera, { x: 0, y: 0 }, { x: 400, y: 0 }, FRAME, FREE);
    expect(position[2]).toBeCloseTo(-4, 9);
  });

  it.each([{ ...FREE, isShift: true }, { ...FREE, buttons: 4 }, { ...FREE, buttons: 2 }])("moves with %j", (held) => {
    const place = project(dragged(camera, { x: 0, y: 0 }, { x: 40, y: 20 }, FRAME, held), camera.target, 2);
    expect(place.x).toBeCloseTo(0.5 + 40 / 800, 9);
    expect(place.y).toBeCloseTo(0.5 + 20 / 400, 9);
  });

  it("zooms with control, upwards is nearer", () => {
    const near = dragged(camera, { x: 0, y: 100 }, { x: 0, y: 0 }, FRAME, { ...FREE, isControl: true });
    expect(visibleHeight(near)).toBeLessThan(visibleHeight(camera));
  });

  it("two fingers twice as far apart double the size", () => {
    const near = pinched(camera, [{ x: 400, y: 250 }, { x: 600, y: 250 }], [{ x: 300, y: 250 }, { x: 700, y: 250 }], FRAME);
    expect(visibleHeight(near)).toBeCloseTo(visibleHeight(camera) / 2, 9);
  });

  it("the wheel has a largest step, and counts lines as pixels", () => {
    const at = { x: 500, y: 250 };
    expect(visibleHeight(wheeled(camera, at, 9999, false, FRAME))).toBeCloseTo(visibleHeight(wheeled(camera, at, 300, false, FRAME)), 9);
    expect(visibleHeight(wheeled(camera, at, 3, true, FRAME))).toBeCloseTo(visibleHeight(wheeled(camera, at, 99, false, FRAME)), 9);
  });

  it("places are fractions of the image", () => expect(fraction({ x: 300, y: 150 }, FRAME)).toEqual({ x: 0.25, y: 0.25 }));
});
