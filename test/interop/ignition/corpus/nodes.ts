import { file, type Rule, storage } from "./rule.js";

const path = (text: unknown) => storage({ files: [{ path: text }] });
const directory = (fields: object) => storage({ directories: [{ path: "/d", ...fields }] });
const links = (...list: object[]) => storage({ links: list });

export const nodeRules: readonly Rule[] = [
  {
    rule: "paths are absolute and in their shortest form",
    accept: [path("/"), path("/a/b"), path("/..a"), path("/a b"), path("/\u00fc")],
    reject: [
      path(""),
      path(null),
      storage({ files: [{}] }),
      path("a"),
      path("./a"),
      path("/a/"),
      path("//a"),
      path("/a/../b"),
      path("/a/./b"),
      directory({ path: "d" }),
      links({ path: "l", target: "/t" }),
    ],
  },
  {
    rule: "modes are 0 to 07777",
    accept: [
      file({ mode: 0 }),
      file({ mode: 420 }),
      file({ mode: 4095 }),
      file({ mode: 2541 }),
      directory({ mode: 1005 }),
      file({ mode: null }),
    ],
    reject: [file({ mode: -1 }), file({ mode: 4096 }), directory({ mode: 65535 }), file({ mode: 4294967296 })],
  },
  {
    rule: "overwriting a file needs contents with a source",
    accept: [
      file({ overwrite: true, contents: { source: "data:,a" } }),
      file({ overwrite: true, contents: { source: "" } }),
      file({ overwrite: false }),
      directory({ overwrite: true }),
      links({ path: "/l", target: "/t", overwrite: true }),
    ],
    reject: [file({ overwrite: true }), file({ overwrite: true, contents: {} }), file({ overwrite: true, append: [] })],
  },
  {
    rule: "owners are given by id or by name",
    accept: [
      file({ user: { id: 0 } }),
      file({ group: { name: "root" } }),
      file({ user: { id: 0, name: "" } }),
      file({ user: { id: 0 }, group: { name: "root" } }),
      file({ user: {} }),
    ],
    reject: [
      file({ user: { id: 0, name: "root" } }),
      file({ group: { id: 0, name: "root" } }),
      directory({ user: { id: 0, name: "root" } }),
      links({ path: "/l", target: "/t", group: { id: 1, name: "b" } }),
    ],
  },
  {
    rule: "no path leads through a link of the same config",
    accept: [
      storage({ links: [{ path: "/l", target: "/t" }], files: [{ path: "/lx" }], directories: [{ path: "/t" }] }),
      links({ path: "/l", target: "/t" }, { path: "/l2", target: "/l" }),
    ],
    reject: [
      storage({ links: [{ path: "/l", target: "/t" }], files: [{ path: "/l/a" }] }),
      storage({ links: [{ path: "/l", target: "/t" }], directories: [{ path: "/l/a/b" }] }),
      links({ path: "/l", target: "/t" }, { path: "/l/m", target: "/t" }),
    ],
  },
  {
    rule: "links have a target",
    accept: [links({ path: "/l", target: "t" }), links({ path: "/l", target: "/t", hard: false })],
    reject: [links({ path: "/l" }), links({ path: "/l", target: "" }), links({ path: "/l", target: "", hard: true })],
  },
  {
    rule: "hard links do not point to a configured directory",
    accept: [
      storage({ links: [{ path: "/l", target: "/d" }], directories: [{ path: "/d" }] }),
      storage({ links: [{ path: "/l", target: "/d/f", hard: true }], directories: [{ path: "/d" }] }),
      links({ path: "/l", target: "/t", hard: true, user: { id: 1 }, group: { name: "a" } }),
    ],
    reject: [
      storage({ links: [{ path: "/l", target: "/d", hard: true }], directories: [{ path: "/d" }] }),
      storage({ links: [{ path: "/l", target: "/x/../d/", hard: true }], directories: [{ path: "/d" }] }),
      storage({ links: [{ path: "/l/m", target: "../d", hard: true }], directories: [{ path: "/l/d" }] }),
    ],
  },
  {
    rule: "a path is listed once across files, directories and links",
    accept: [storage({ files: [{ path: "/a" }, { path: "/b" }], directories: [{ path: "/c" }] })],
    reject: [
      storage({ files: [{ path: "/a" }, { path: "/a" }] }),
      storage({ files: [{ path: "/a" }], directories: [{ path: "/a" }] }),
      storage({ directories: [{ path: "/a" }], links: [{ path: "/a", target: "/t" }] }),
    ],
  },
];
