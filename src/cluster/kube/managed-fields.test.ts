import { expect, test } from "vitest";
import { joinedParts, ownedPart, partPaths, replacedPart } from "./managed-fields.js";

const pod = (part: object) => ({ spec: part });

test("what an apply replaces are values of others that differ, with the keys of the items around them", () => {
  const now = pod({
    grace: 30,
    containers: [
      { name: "a", image: "a:1", args: ["--x"], ports: [{ containerPort: 1, protocol: "TCP", name: "one" }] },
      { name: "b", image: "b:1" },
    ],
  });
  const wanted = pod({
    grace: 135,
    containers: [
      {
        ...{ name: "a", image: "a:2", args: ["--y"], tty: true },
        ports: [{ containerPort: 1, protocol: "TCP", name: "two" }],
      },
      { name: "b", image: "b:1" },
      { name: "c", image: "c:1" },
    ],
  });
  const mine = { "f:spec": { "f:containers": { 'k:{"name":"a"}': { "f:image": {} } } } };
  const ports = [{ containerPort: 1, protocol: "TCP", name: "one" }];
  const replaced = pod({ grace: 30, containers: [{ name: "a", args: ["--x"], ports }] });
  expect(replacedPart(wanted, now, mine)).toEqual(replaced);
  expect(replacedPart(wanted, now, undefined)).toMatchObject(pod({ containers: [{ name: "a", image: "a:1" }] }));
  expect(replacedPart(now, now, undefined)).toEqual({});
  expect(partPaths(replaced)).toEqual(["spec.grace", "spec.containers[a].args", "spec.containers[a].ports[1].name"]);
});

test("what is somebody's is told by the fields that the API server recorded", () => {
  const part = pod({ grace: 30, volumeMounts: [{ mountPath: "/a", name: "x" }] });
  const fields = { "f:spec": { "f:volumeMounts": { 'k:{"mountPath":"/a"}': { ".": {}, "f:name": {} } } } };
  expect(ownedPart(part, fields)).toEqual(pod({ volumeMounts: [{ mountPath: "/a", name: "x" }] }));
  expect(ownedPart(part, undefined)).toEqual({});
});

test("a Service's ports are told apart by port, and its selector is replaced as a whole", () => {
  const now = pod({ selector: { app: "a", tier: "b" }, ports: [{ port: 1, protocol: "TCP", targetPort: 9 }] });
  const wanted = pod({ selector: { app: "c" }, ports: [{ port: 1, protocol: "TCP", targetPort: 1 }] });
  expect(replacedPart(wanted, now, undefined)).toEqual(now);
  const fields = { "f:spec": { "f:selector": {} } };
  expect(ownedPart(now, fields)).toEqual(pod({ selector: { app: "a", tier: "b" } }));
});

test("two parts are joined field by field, and item by item", () => {
  const one = pod({ volumes: [{ name: "a", x: 1 }], args: ["1"] });
  const other = pod({ volumes: [{ name: "a", y: 2 }, { name: "b" }], args: ["2"] });
  expect(joinedParts(one, other)).toEqual(pod({ volumes: [{ name: "a", x: 1, y: 2 }, { name: "b" }], args: ["2"] }));
});
