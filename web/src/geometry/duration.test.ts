import { expect, it } from "vitest";
import { about, duration } from "./duration";

it("says times as people do", () => expect([0.44, 9.96, 42.4, 59.9, 72, 120, 3599.6, 7260].map(duration)).toEqual(["0.4 s", "10 s", "42 s", "1 min", "1 min 12 s", "2 min", "1 h", "2 h 1 min"]));

it("rounds what is only expected", () => expect([0.2, 7.3, 42, 72, 3000].map(about)).toEqual(["about 1 s", "about 8 s", "about 45 s", "about 1 min 20 s", "about 50 min"]));
