/** Configs made by chance, from names so few that any two of them have much in common. */
import fc from "fast-check";

const few = fc.constantFrom("a", "b", "c");
const paths = fc.constantFrom("/a", "/b", "/c", "/d", "/a/x");
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const members = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T) =>
  fc.record(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, optional(value)])));
/** A list in which every key occurs once. */
const list = (entry: fc.Arbitrary<object>, key: string) =>
  fc.uniqueArray(entry, { maxLength: 3, selector: (value) => JSON.stringify((value as Record<string, unknown>)[key]) });
const strings = fc.uniqueArray(few, { maxLength: 3 });
const named = (key: string, name: fc.Arbitrary<string>, fields: Record<string, fc.Arbitrary<unknown>>) =>
  list(
    fc.tuple(name, members(fields)).map(([value, rest]) => ({ ...rest, [key]: value })),
    key,
  );

const headers = named("name", few, { value: fc.constantFrom("x", "y", null) });
const dataUrl = few.map((letter) => `data:,${letter}`);
const hash = fc.record({ hash: fc.constantFrom(`sha256-${"0".repeat(64)}`, `sha512-${"1".repeat(128)}`) });
const webResource = {
  source: fc.constantFrom("http://a.example", "https://b.example/x"),
  httpHeaders: headers,
};
const inlineResource = { source: dataUrl, compression: fc.constantFrom("", "gzip"), verification: hash };
const resource = fc.oneof(
  fc.record(webResource),
  fc.tuple(dataUrl, members(inlineResource)).map(([source, rest]) => ({ ...rest, source })),
);
const owner = fc.constantFrom({ id: 0 }, { name: "root" }, {}, { id: 5 });
const node = { user: owner, group: owner };

const storage = fc
  .tuple(
    named("path", paths, {
      ...node,
      mode: fc.integer({ min: 0, max: 0o7777 }),
      contents: resource,
      append: fc.array(resource, { maxLength: 2 }),
    }),
    named("path", paths, { ...node, mode: fc.integer({ min: 0, max: 0o777 }), overwrite: fc.boolean() }),
    named("path", paths, { ...node, hard: fc.boolean() }),
    members({
      disks: named("device", fc.constantFrom("/dev/a", "/dev/b"), {
        wipeTable: fc.boolean(),
        partitions: named("number", fc.constantFrom("1", "2"), { label: few, sizeMiB: fc.nat(9) }).map((entries) =>
          entries.map((entry) => ({ ...entry, number: Number((entry as { number: string }).number) })),
        ),
      }),
      raid: named("name", few, { options: fc.array(few, { maxLength: 2 }), spares: fc.nat(2) }).map((entries) =>
        entries.map((entry) => ({ level: "1", devices: ["/dev/a"], ...entry })),
      ),
      filesystems: named("device", fc.constantFrom("/dev/a", "/dev/b"), {
        label: few,
        mountOptions: fc.array(few, { maxLength: 2 }),
        wipeFilesystem: fc.boolean(),
      }).map((entries) => entries.map((entry) => ({ format: "xfs", ...entry }))),
      luks: named("name", few, {
        discard: fc.boolean(),
        openOptions: strings,
        options: fc.array(few, { maxLength: 2 }),
        clevis: members({ tpm2: fc.boolean(), threshold: fc.nat(2) }),
      }).map((entries) => entries.map((entry) => ({ device: "/dev/a", ...entry }))),
    }),
  )
  .map(([files, directories, links, rest]) => {
    const taken = new Set<string>();
    const untaken = (entries: readonly object[]) =>
      (entries as readonly { path: string }[]).filter(({ path }) => !taken.has(path) && taken.add(path));
    return {
      ...rest,
      links: untaken(links).map((link) => ({ target: "/t", ...link })),
      directories: untaken(directories),
      files: untaken(files),
    };
  });

const ignition = members({
  config: members({ merge: list(resource, "source"), replace: resource }),
  proxy: members({ httpProxy: fc.constantFrom("http://a", "https://b"), noProxy: strings }),
  security: members({ tls: members({ certificateAuthorities: list(resource, "source") }) }),
  timeouts: members({ httpTotal: fc.nat(9), httpResponseHeaders: fc.nat(9) }),
});

const unitNames = fc.constantFrom("a.service", "b.timer", "c@d.service");
const contents = fc.constantFrom("", "[Unit]\nA=b", "[Install]\nWantedBy=c");

const body = members({
  kernelArguments: fc.uniqueArray(few, { maxLength: 3 }).map(([first, ...rest]) => ({
    shouldExist: first === undefined ? [] : [first],
    shouldNotExist: rest,
  })),
  passwd: members({
    users: named("name", few, {
      uid: fc.nat(9),
      groups: strings,
      sshAuthorizedKeys: strings,
      shouldExist: fc.boolean(),
    }),
    groups: named("name", few, { gid: fc.nat(9), system: fc.boolean() }),
  }),
  storage,
  systemd: members({
    units: named("name", unitNames, {
      enabled: fc.boolean(),
      mask: fc.boolean(),
      contents,
      dropins: named("name", fc.constantFrom("a.conf", "b.conf"), { contents }),
    }),
  }),
});

/** The text of a config of any spec version; nearly all are valid. */
export const arbitraryConfig: fc.Arbitrary<string> = fc
  .tuple(body, ignition, fc.integer({ min: 0, max: 5 }))
  .map(([fields, settings, minor]) =>
    JSON.stringify({ ...fields, ignition: { ...settings, version: `3.${minor}.0` } }),
  );
