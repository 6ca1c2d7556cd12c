import { file, type Rule } from "./rule.js";

const version = (text: unknown) => JSON.stringify({ ignition: { version: text } });
const users = (...list: object[]) => ({ passwd: { users: list } });
const kernelArguments = (fields: object) => ({ kernelArguments: fields });
/** Deep, but within the bound that is ours. */
const deep = (levels: number) => `{"ignition":{"version":"3.5.0"},"x":${"[".repeat(levels)}${"]".repeat(levels)}}`;

export const documentRules: readonly Rule[] = [
  {
    rule: "a config is a JSON object",
    accept: ['{"ignition":{"version":"3.5.0"}}', ' \n{"ignition":\t{"version":"3.5.0"}}\r\n', deep(150)],
    reject: [
      "",
      " ",
      "{",
      "{}",
      "null",
      "[]",
      "3",
      '"a"',
      '{"ignition":{"version":"3.5.0"}}x',
      '{"ignition":{"version":"3.5.0"},}',
      "{'ignition':{}}",
      '\ufeff{"ignition":{"version":"3.5.0"}}',
      '{"ignition":{"version":"3.5.0"},"x":"\n"}',
      "ignition:\n  version: 3.5.0\n",
    ],
  },
  {
    rule: "the version is one of 3.0.0 to 3.5.0",
    accept: [version("3.0.0"), version("3.1.0"), version("3.2.0"), version("3.5.0"), version("03.005.00")],
    reject: [
      version("3.6.0"),
      version("3.10.0"),
      version("2.3.0"),
      version("4.0.0"),
      version("3.5"),
      version("3.5.1"),
      version("3.5.0-experimental"),
      version("3.5.0+a"),
      version("v3.5.0"),
      version(""),
      version(null),
      version(3.5),
      version(" 3.5.0"),
      '{"ignition":"3.5.0"}',
      '{"ignition":null}',
    ],
  },
  {
    rule: "unknown members are ignored, names may differ in case",
    accept: [
      { unknown: { a: [1] } },
      file({ unknown: true }),
      '{"Ignition":{"VERSION":"3.5.0"}}',
      '{"ignition":{"version":"3.5.0"},"storage":{"FILES":[{"Path":"/a","MODE":420}]}}',
      '{"ignition":{"version":"3.4.0"},"ignition":{"version":"3.5.0"}}',
      '{"ignition":{"version":"3.5.0"},"ignition":{"timeouts":{}}}',
    ],
    reject: ['{"ignition":{"version":"3.5.0"},"STORAGE":{"files":[{"path":"a"}]}}'],
  },
  {
    rule: "members have their type, and null is absence",
    accept: [
      file({ mode: 420, overwrite: null, contents: null, append: null }),
      { storage: null, systemd: null, passwd: { users: null } },
      { passwd: { users: [null] } },
      '{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":-0}]}}',
    ],
    reject: [
      file({ mode: "0644" }),
      file({ mode: 1.5 }),
      file({ mode: true }),
      '{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":1e2}]}}',
      '{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":420.0}]}}',
      '{"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":99999999999999999999}]}}',
      file({ overwrite: "true" }),
      file({ path: 1 }),
      file({ contents: "data:,a" }),
      file({ contents: [] }),
      { storage: [] },
      { storage: { files: {} } },
      { storage: { files: [1] } },
      { storage: { files: [null] } },
      users({ name: "a", groups: [1] }),
      users({ name: "a", groups: "b" }),
    ],
  },
  {
    rule: "users and groups are listed once, and so are a user's groups and keys",
    accept: [
      users({ name: "a", groups: ["b", "c"], sshAuthorizedKeys: ["k", "l"], uid: 1 }, { name: "b" }),
      { passwd: { groups: [{ name: "a", gid: 1 }, { name: "b" }] } },
      users({}),
    ],
    reject: [
      users({ name: "a" }, { name: "a" }),
      users({}, {}),
      users({ name: "a", groups: ["b", "b"] }),
      users({ name: "a", sshAuthorizedKeys: ["k", "k"] }),
      { passwd: { groups: [{ name: "a" }, { name: "a" }] } },
    ],
  },
  {
    rule: "kernel arguments are listed once across both lists",
    accept: [kernelArguments({ shouldExist: ["a", "b"], shouldNotExist: ["c"] })],
    reject: [
      kernelArguments({ shouldExist: ["a", "a"] }),
      kernelArguments({ shouldExist: ["a"], shouldNotExist: ["a"] }),
      kernelArguments({ shouldNotExist: ["a", "a"] }),
    ],
  },
];
