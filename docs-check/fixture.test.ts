import { expect, test } from "vitest";
import { filledIn } from "./fixture.js";

const OTHERS = ["MYSERVER SERVERS $SERVER SERVER=1", "$", "{SERVER}"].join("");
const WORDS = { SERVER: "192.0.2.1", PORT: "9090", "METRICS-PORT": "8080", HERE: "/tmp/here" };

test.each([
  ["curl -x https://SERVER:8090 SERVER", "curl -x https://192.0.2.1:8090 192.0.2.1"],
  ["--addr :PORT --metrics-addr :METRICS-PORT", "--addr :9090 --metrics-addr :8080"],
  ["--dir HERE/state --dir=HERE", "--dir /tmp/here/state --dir=/tmp/here"],
  [OTHERS, OTHERS],
])("%s", (text, filled) => {
  expect(filledIn(text, WORDS)).toBe(filled);
});

test("without words nothing changes", () => {
  expect(filledIn("SERVER", {})).toBe("SERVER");
});
