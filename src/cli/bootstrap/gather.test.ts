import { afterEach, beforeEach, expect, test, vi } from "vitest";
import bootstrapGather from "./gather.js";

let err = "";
let out = "";
beforeEach(() => {
  [err, out] = ["", ""];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    err += text;
    return true;
  });
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out += text;
    return true;
  });
});
afterEach(() => vi.restoreAllMocks());

const gather = (...argv: string[]) => bootstrapGather.run("drawbridge bootstrap gather", argv);

test.each<[string[], RegExp]>([
  [["x"], /"x" belongs to no flag/],
  [["--log", "/var/log/x"], /is not NAME=\/FILE/],
  [["--log", "konnectivity-server=relative.log"], /is not NAME=\/FILE/],
  [["--log", "nginx=/var/log/x"], /is not NAME=\/FILE/],
  [["--pki", "tls"], /not an absolute path/],
  [["--port", "0"], /"--port" flag: must be a port/],
  [["--timeout", "5ms"], /--timeout must be at least 1s/],
  [["--bootstrap", "-oProxyCommand=x"], /neither an address nor the name of a host/],
  [["--bootstrap", "192.0.2.1", "--user", "-x"], /not the name of a user/],
  [["--pki", "/x", "--node", "192.0.2.1"], /--node needs --bootstrap or --dir/],
])("gather %j is refused as misuse", async (argv, sentence) => {
  expect(await gather(...argv)).toBe(2);
  expect(err).toMatch(/^Error: [^\n]*\(DB_FLAG_VALUE: [^\n]*\)\n$/);
  expect(err).toMatch(sentence);
});

test("gather --help says what never gets into the archive", async () => {
  expect(await gather("--help")).toBe(0);
  expect(out).toMatch(/never get into the archive/);
});

test("a given state directory without a record is refused in one sentence", async () => {
  expect(await gather("--state-dir", "/nowhere")).toBe(1);
  expect(err).toMatch(/^Error: No bridge is recorded in \/nowhere\. .*\(DB_BRIDGE_RECORD: /);
});

test("a path that is no install directory is refused in one sentence", async () => {
  expect(await gather("--dir", "/nowhere")).toBe(1);
  expect(err).toMatch(/^Error: \/nowhere cannot be used as an install directory: .*\(DB_INSTALL_DIR: /);
});
