import { type Rule, unit } from "./rule.js";

const written = (contents: string, enabled = false) => unit({ contents, enabled });
const dropin = (fields: object) => unit({ dropins: [{ name: "10-a.conf", ...fields }] });
const units = (...list: object[]) => ({ systemd: { units: list } });
const beside = (kind: string, path: string, systemd: object) => ({
  storage: { [kind]: [{ path, ...(kind === "links" && { target: "/t" }) }] },
  systemd: { units: [systemd] },
});
const kinds = "service socket device mount automount swap target path timer snapshot slice scope".split(" ");

export const unitRules: readonly Rule[] = [
  {
    rule: "unit names end in their kind, drop-ins in .conf",
    accept: [
      ...kinds.map((kind) => unit({ name: `a.${kind}` })),
      unit({ name: "a@b.service" }),
      unit({ name: ".service" }),
      dropin({}),
      dropin({ name: ".conf" }),
    ],
    reject: [
      unit({ name: "a" }),
      unit({ name: "" }),
      unit({ name: "a.services" }),
      unit({ name: "a.Service" }),
      unit({ name: "a.service/b" }),
      dropin({ name: "10-a" }),
      dropin({ name: "10-a.conf.bak" }),
    ],
  },
  {
    rule: "unit contents can be parsed",
    accept: [
      written(""),
      written("[Unit]"),
      written("[Unit]\nA=b\n[Install]\nWantedBy=x\n", true),
      written("words before [Unit]\nA=b"),
      written("# comment\\\nmore comment\n[Unit]\n;x\nA=b \\\n  c\n\nD=\n"),
      written("[Unit]\r\nA=b\r\n"),
      written("[Unit\n]\nA=b"),
      written("[Unit] \t\nA=b"),
      written("[Unit]\n\u00a0A=b"),
      written("no section"),
      written("[Unit]\nA=b\n", true),
      written("[Install]\n", true),
      written("[Install]\nWantedBy=\\", true),
      dropin({ contents: "[Service]\nA=b" }),
    ],
    reject: [
      written("[Unit"),
      written("[Unit] x\nA=b"),
      written("[Unit]\nA\n"),
      written("[Unit]\nA"),
      written("[Unit]\nA\r=b"),
      dropin({ contents: "[Unit" }),
    ],
  },
  {
    rule: "lines of 2048 bytes are refused where the parser's window shows them",
    accept: [
      written(`[Unit]\nA=${"x".repeat(2000)}\nB=c\n`),
      written(`[Unit]\nA=${"x".repeat(2045)}`),
      written(`[Unit]\n${"A=b\n".repeat(1000)}B=${"x".repeat(2100)}\nC=d\n`),
      written(`[Unit]\nA=${"\u00fc".repeat(900)}\nB=c\n`),
      written(`[Unit]\n${"A=b\n".repeat(2000)}B=${"x".repeat(4000)}\nC=d\n`),
    ],
    reject: [
      written(`[Unit]\nA=${"x".repeat(2100)}\nB=c\n`),
      written(`[Unit]\n${"A=b\n".repeat(400)}B=${"x".repeat(2100)}\nC=d\n`),
      written(`[Unit]\nA=${"\u00fc".repeat(1100)}\nB=c\n`),
      written("x".repeat(2049)),
    ],
  },
  {
    rule: "units and drop-ins are listed once",
    accept: [units({ name: "a.service" }, { name: "b.service" })],
    reject: [
      units({ name: "a.service" }, { name: "a.service" }),
      unit({ dropins: [{ name: "a.conf" }, { name: "a.conf" }] }),
    ],
  },
  {
    rule: "nothing else has the path of a unit or drop-in",
    accept: [
      beside("files", "/etc/systemd/system/a.service", { name: "a.service" }),
      beside("files", "/etc/systemd/system/a.service", { name: "a.service", contents: "" }),
      beside("files", "/etc/systemd/user/a.service", { name: "a.service", contents: "[Unit]" }),
    ],
    reject: [
      beside("files", "/etc/systemd/system/a.service", { name: "a.service", contents: "[Unit]" }),
      beside("directories", "/etc/systemd/system/a.service", { name: "a.service", contents: "[Unit]" }),
      beside("links", "/etc/systemd/system/a.service", { name: "a.service", contents: "[Unit]" }),
      beside("files", "/etc/systemd/system/a.service.d/x.conf", {
        name: "a.service",
        dropins: [{ name: "x.conf", contents: "[Unit]" }],
      }),
    ],
  },
  {
    rule: "instances of templates without [Install] are only warned about",
    accept: [
      units({ name: "a@.service", contents: "[Unit]\nA=b" }, { name: "a@b.service", enabled: true }),
      units({ name: "a@.service", contents: "[Install]\nA=b" }, { name: "a@b.service", enabled: true }),
    ],
    reject: [units({ name: "a@.service", contents: "[Unit" }, { name: "a@b.service", enabled: true })],
  },
];
