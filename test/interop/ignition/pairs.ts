/** Configs to be merged, each pair for something that merging can get wrong. */
import { storage as inStorage } from "./corpus/rule.js";

export interface Pair {
  readonly about: string;
  readonly parent: object;
  readonly child: object;
}

const files = (...list: object[]) => inStorage({ files: list });
const source = "https://a.example/x";
const references = (...list: object[]) => ({ ignition: { config: { merge: list } } });
const headers = (...httpHeaders: object[]) => references({ source, httpHeaders });
const authorities = (...list: string[]) => ({
  ignition: { security: { tls: { certificateAuthorities: list.map((item) => ({ source: `data:,${item}` })) } } },
});
const units = (...list: object[]) => ({ systemd: { units: list } });
const users = (...list: object[]) => ({ passwd: { users: list } });
const kernelArguments = (fields: object) => ({ kernelArguments: fields });
const luks = (fields: object) => inStorage({ luks: [{ name: "v", device: "/dev/a", ...fields }] });

export const pairs: readonly Pair[] = [
  { about: "nothing", parent: {}, child: {} },
  { about: "a parent alone", parent: files({ path: "/a" }), child: {} },
  { about: "a child alone", parent: {}, child: files({ path: "/a" }) },
  {
    about: "a file's members",
    parent: files({ path: "/a", mode: 420, user: { name: "a" }, contents: { source: "data:,a", compression: "gzip" } }),
    child: files({ path: "/a", user: { name: "", id: 1 }, contents: { source: "data:,b", compression: "" } }),
  },
  {
    about: "appended contents",
    parent: files({ path: "/a", append: [{ source: "data:,a" }] }),
    child: files({ path: "/a", append: [{ source: "data:,a" }, { source: "data:,b" }] }),
  },
  {
    about: "a file that becomes a link",
    parent: files({ path: "/a", mode: 384 }, { path: "/b" }),
    child: inStorage({ links: [{ path: "/a", target: "/b" }] }),
  },
  {
    about: "a link that becomes a directory",
    parent: inStorage({
      links: [
        { path: "/a", target: "/b" },
        { path: "/c", target: "/d" },
      ],
    }),
    child: inStorage({ directories: [{ path: "/a", mode: 448 }] }),
  },
  {
    about: "three kinds that change places",
    parent: inStorage({
      files: [{ path: "/a" }],
      directories: [{ path: "/b" }],
      links: [{ path: "/c", target: "/t" }],
    }),
    child: inStorage({ files: [{ path: "/b" }], directories: [{ path: "/c" }], links: [{ path: "/a", target: "/t" }] }),
  },
  {
    about: "a file below what is now a link",
    parent: files({ path: "/a/b" }),
    child: inStorage({ links: [{ path: "/a", target: "/c" }] }),
  },
  {
    about: "a hard link to what is now a directory",
    parent: inStorage({ links: [{ path: "/a", target: "/b", hard: true }] }),
    child: inStorage({ directories: [{ path: "/b" }] }),
  },
  {
    about: "headers that go, change and come",
    parent: headers({ name: "a", value: "1" }, { name: "b", value: "2" }, { name: "c", value: "3" }),
    child: headers({ name: "b", value: null }, { name: "c", value: "4" }, { name: "d", value: "5" }),
  },
  {
    about: "a header to go that was not there",
    parent: headers({ name: "a", value: "1" }),
    child: headers({ name: "b" }),
  },
  { about: "all headers gone", parent: headers({ name: "a", value: "1" }), child: headers({ name: "a" }) },
  {
    about: "names of headers in another case",
    parent: headers({ name: "A", value: "1" }),
    child: headers({ name: "a" }),
  },
  { about: "more authorities", parent: authorities("a", "b"), child: authorities("b", "c") },
  {
    about: "an authority with a hash",
    parent: authorities("a"),
    child: {
      ignition: {
        security: {
          tls: { certificateAuthorities: [{ source: "data:,a", verification: { hash: `sha256-${"0".repeat(64)}` } }] },
        },
      },
    },
  },
  { about: "more references", parent: references({ source }), child: references({ source: "data:,a" }, { source }) },
  {
    about: "a replacement",
    parent: { ignition: { config: { replace: { source, httpHeaders: [{ name: "a", value: "b" }] } } } },
    child: { ignition: { config: { replace: { source: "http://b.example" } } } },
  },
  {
    about: "a replacement that is no URL for headers any more",
    parent: { ignition: { config: { replace: { source, httpHeaders: [{ name: "a", value: "b" }] } } } },
    child: { ignition: { config: { replace: { source: "data:,a" } } } },
  },
  {
    about: "proxy and timeouts",
    parent: { ignition: { proxy: { httpProxy: "http://a", noProxy: ["x", "y"] }, timeouts: { httpTotal: 5 } } },
    child: { ignition: { proxy: { httpsProxy: "https://b", noProxy: ["y", "z"] }, timeouts: { httpTotal: 0 } } },
  },
  {
    about: "units and drop-ins",
    parent: units(
      { name: "a.service", enabled: true, contents: "[Unit]", dropins: [{ name: "1.conf", contents: "[A]" }] },
      { name: "b.service" },
    ),
    child: units(
      { name: "c.service" },
      {
        name: "a.service",
        enabled: false,
        mask: true,
        dropins: [{ name: "2.conf" }, { name: "1.conf", contents: "" }],
      },
    ),
  },
  {
    about: "a file in the place of a unit",
    parent: files({ path: "/etc/systemd/system/a.service" }),
    child: units({ name: "a.service", contents: "[Unit]" }),
  },
  {
    about: "users and groups",
    parent: { passwd: { users: [{ name: "a", groups: ["x"], uid: 1 }], groups: [{ name: "g", gid: 1 }] } },
    child: {
      passwd: { users: [{ name: "a", groups: ["y", "x"], sshAuthorizedKeys: ["k"] }], groups: [{ name: "g", gid: 2 }] },
    },
  },
  { about: "users without a name", parent: users({ uid: 1 }), child: users({ uid: 2 }) },
  {
    about: "kernel arguments that change sides",
    parent: kernelArguments({ shouldExist: ["a", "b"], shouldNotExist: ["c"] }),
    child: kernelArguments({ shouldExist: ["c"], shouldNotExist: ["b", "d"] }),
  },
  {
    about: "partitions by number and by label",
    parent: inStorage({ disks: [{ device: "/dev/a", partitions: [{ number: 1, label: "a" }, { label: "b" }] }] }),
    child: inStorage({
      disks: [
        {
          device: "/dev/a",
          wipeTable: true,
          partitions: [
            { label: "b", sizeMiB: 1 },
            { number: 1, sizeMiB: 2 },
          ],
        },
      ],
    }),
  },
  {
    about: "a label that another partition has already",
    parent: inStorage({ disks: [{ device: "/dev/a", partitions: [{ number: 1, label: "a" }] }] }),
    child: inStorage({ disks: [{ device: "/dev/a", partitions: [{ label: "a", sizeMiB: 1 }] }] }),
  },
  {
    about: "arrays and file systems with options",
    parent: inStorage({
      raid: [{ name: "r", level: "1", devices: ["/dev/a"], options: ["-x"] }],
      filesystems: [{ device: "/dev/a", format: "xfs", options: ["-x"], mountOptions: ["ro"] }],
    }),
    child: inStorage({
      raid: [{ name: "r", level: "5", devices: ["/dev/b", "/dev/a"], options: ["-x"], spares: 1 }],
      filesystems: [{ device: "/dev/a", format: "ext4", options: ["-x"], mountOptions: ["ro"] }],
    }),
  },
  {
    about: "volumes with everything",
    parent: luks({
      options: ["a"],
      openOptions: ["a"],
      clevis: { tpm2: true, tang: [{ url: "http://t", thumbprint: "x" }] },
    }),
    child: luks({
      options: ["a"],
      openOptions: ["a", "b"],
      discard: false,
      clevis: {
        threshold: 2,
        tang: [
          { url: "http://t", thumbprint: "y" },
          { url: "http://u", thumbprint: "z" },
        ],
      },
    }),
  },
  {
    about: "a custom pin over others",
    parent: luks({ clevis: { tpm2: true } }),
    child: luks({ clevis: { custom: { pin: "sss", config: "{}" } } }),
  },
  { about: "cex over clevis", parent: luks({ clevis: { tpm2: true } }), child: luks({ cex: { enabled: true } }) },
  {
    about: "a key file",
    parent: luks({ keyFile: { source: "data:,a" } }),
    child: luks({ keyFile: { source: "data:,b" } }),
  },
];
