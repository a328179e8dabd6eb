// @vitest-environment happy-dom
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { expect, it, vi } from "vitest";
import { Access } from "./access";
import { AccessDenied, forgetToken, pageAddress, sign } from "./pageSession";

const SECRETS = ["a.b.once", "c.d.used", "before"];
const ADDRESS = "http://127.0.0.1:8000/";
const UNUSED = { fragment: "", fetch: () => Promise.reject(new Error("unused")), isIntercepted: () => false };
const GIVEN = { session: "s", key: "k", token: "t", capability: "own", state: "" };

/** What a viewer answers that holds these secrets. */
function proofBy(held: readonly string[], { nonce, code, secret_hash: hash }: Record<string, string>): string {
  const secret = held.find((one) => (code === undefined ? bytesToHex(sha256(utf8ToBytes(one))) === hash : one.startsWith(`${code}.`)));
  return secret === undefined ? "" : sign(secret, "program", nonce ?? "");
}

function setUp(fragment: string, kept: Record<string, string> = {}, isFramed = false, refused: readonly string[] = [], held: readonly string[] = SECRETS, isIntercepted = false) {
  const proofs: Record<string, string>[] = [];
  const asked: Record<string, string>[] = [];
  const storage = isFramed
    ? null
    : {
        getItem: (name: string): string | null => kept[name] ?? null,
        setItem: (name: string, value: string): void => void (kept[name] = value),
        removeItem: (name: string): void => void delete kept[name],
      };
  const access = new Access({
    address: ADDRESS,
    fragment,
    storage,
    isIntercepted: () => isIntercepted,
    fetch: (address, { body }) => {
      const sent = JSON.parse(body as string) as Record<string, string>;
      if (address === "api/prove") {
        proofs.push(sent);
        return Promise.resolve(Response.json({ proof: proofBy(held, sent) }));
      }
      asked.push(sent);
      const isRefused = Object.keys(sent).some((name) => refused.includes(name));
      return Promise.resolve(isRefused ? Response.json({ what: "It was used.", remedy: "Get another." }, { status: 403 }) : Response.json(GIVEN));
    },
  });
  return { access, asked, kept, proofs };
}

it("makes the keyed hashes that the viewer makes", () => {
  expect(sign("key", "server", "a", "b").slice(0, 8)).toBe("dab56ad9");
});

it("knows its own address without file, query and fragment", () => {
  expect(pageAddress("http://127.0.0.1:8000/i/0123456789/index.html?a=1#code=2")).toBe("http://127.0.0.1:8000/i/0123456789/");
});

it("opens with a code, and keeps the token for a reload but not the key", async () => {
  const { access, asked, kept } = setUp("#code=a.b.once");
  await access.open();
  expect(asked).toEqual([{ code: "a.b.once", address: ADDRESS }]);
  expect(kept).toEqual({ [`pellucid ${ADDRESS}`]: "t" });
});

it("opens with what was kept where the address has nothing", async () => {
  const { access, asked } = setUp("", { [`pellucid ${ADDRESS}`]: "before" });
  await access.open();
  expect(asked).toEqual([{ resume: "before", address: ADDRESS }]);
});

it("opens with what was kept where a code was used up, as after going back", async () => {
  const { access, asked } = setUp("#code=c.d.used", { [`pellucid ${ADDRESS}`]: "before" }, false, ["code"]);
  await access.open();
  expect(asked.map((sent) => Object.keys(sent)[0])).toEqual(["code", "resume"]);
});

it("keeps nothing in a frame", async () => {
  const { access, kept } = setUp("#code=a.b.once", {}, true);
  await access.open();
  expect(kept).toEqual({});
});

it.each([
  ["nothing", "", "This address needs a link with a code."],
  ["a used code", "#code=c.d.used", "It was used."],
])("says so where the address has %s", async (_, fragment, what) => {
  const { access } = setUp(fragment, {}, false, ["code"]);
  const fault = await access.open().catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(AccessDenied);
  expect(fault).toMatchObject({ what });
});

it.each([
  ["a code", "#code=a.b.once", "", "This link does not belong to this viewer"],
  ["a code without parts", "#code=once", "", "This link does not belong to this viewer"],
  ["a share link", "#share=given", "", "This link was revoked"],
  ["a token", "", "before", "This page no longer has access to the viewer."],
])("does not send %s to a server that cannot prove that it holds it", async (_, fragment, token, what) => {
  const kept: Record<string, string> = token === "" ? {} : { [`pellucid ${ADDRESS}`]: token };
  const { access, asked, proofs } = setUp(fragment, kept, false, [], ["something else"]);
  const fault = await access.open().catch((error: unknown) => error);
  expect(asked).toEqual([]);
  expect(fault).toBeInstanceOf(AccessDenied);
  expect((fault as AccessDenied).what).toContain(what);
  expect(proofs).toHaveLength(1);
  expect(JSON.stringify(proofs)).not.toMatch(/\bonce|given|before/);
});

it("keeps no token for what another user may serve at the port while the viewer is gone", async () => {
  const { access, kept } = setUp("#code=a.b.once");
  await access.open();
  access.welcomed("t2");
  expect(Object.values(kept)).toEqual(["t2"]);
  access.lost();
  expect(Object.values(kept)).toEqual(["t2"]); // Browsers may also close connections when a page is loaded again.
  access.gone();
  expect(kept).toEqual({});
  access.welcomed("t3");
  expect(Object.values(kept)).toEqual(["t3"]);
});

it.each([
  ["http://127.0.0.1:8000/", true],
  ["http://[::1]:8000/", true],
  ["http://3f2a.localhost:8000/i/1/", true],
  ["http://localhost:8000/", true],
  ["https://127.0.0.1:8000/", false],
  ["https://view.site.org/user/ada/", false],
  ["http://localhost.site.org/", false],
])("at %s another user may listen: %s", (address, isForgotten) => {
  const removeItem = vi.fn();
  forgetToken({ ...UNUSED, address, storage: { getItem: () => null, setItem: () => undefined, removeItem } });
  expect(removeItem.mock.calls.length).toBe(isForgotten ? 1 : 0);
});

it("gives no token to requests that another user's service worker would read", async () => {
  const { access } = setUp("#code=a.b.once", {}, false, [], SECRETS, true);
  await access.open();
  access.welcomed("t2");
  await expect(access.ready()).rejects.toMatchObject({ what: "Another program answers in place of the viewer." });
});
