import { expect, test } from "vitest";
import type { ReconstructionDraft } from "../protocol";
import { draftIn, withDraft } from "./carriedDraft";

const DRAFT = { recipe: { filter: "hamming & more" } } as unknown as ReconstructionDraft;

test("a draft comes along with the code of the new address", () => {
  const address = new URL(withDraft("http://new.localhost:8000/#code=a.b.once", "/data/scan 1.h5", DRAFT));
  expect(new URLSearchParams(address.hash.slice(1)).get("code")).toBe("a.b.once");
  expect(draftIn(address.hash)).toEqual({ scan: "/data/scan 1.h5", draft: DRAFT });
});

test("without an open reconstruction the address stays as it is", () => {
  expect(withDraft("http://new.localhost/#code=a", "", undefined)).toBe("http://new.localhost/#code=a");
});

test("a link may name the scan alone, whose draft the viewer has", () => {
  expect(draftIn("#code=a&scan=%2Fdata%2Fscan%201.h5")).toEqual({ scan: "/data/scan 1.h5", draft: null });
  expect(draftIn("#scan=%2Fdata%2Fscan%201.h5")).toBeNull();
});

test.each(["", "#code=a", "#draft=%7B%22scan%22%3A%22x%22%7D", "#code=a&draft=nonsense", "#code=a&draft=null", "#code=a&draft=%7B%22scan%22%3A1%7D"])("%s has no draft", (fragment) => {
  expect(draftIn(fragment)).toBeNull();
});
