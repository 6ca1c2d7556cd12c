import { expect, test } from "vitest";
import { formatReport, parseReport } from "./report.js";

const output = `=== RUN   TestEchoServer
I1115 12:00:00.000000 agent log line
--- PASS: TestEchoServer (0.21s)
=== RUN   TestAgent_MultipleConn
=== RUN   TestAgent_MultipleConn/grpc
    --- FAIL: TestAgent_MultipleConn/grpc (0.10s)
--- FAIL: TestAgent_MultipleConn (0.10s)
=== RUN   TestSkipped
--- SKIP: TestSkipped (0.00s)
=== RUN   TestCrashes
panic: test timed out after 1s
`;

test("counts top-level tests and takes a missing verdict for a failure", () => {
  expect([...parseReport(output)]).toEqual([
    ["TestEchoServer", "PASS"],
    ["TestAgent_MultipleConn", "FAIL"],
    ["TestSkipped", "SKIP"],
    ["TestCrashes", "FAIL"],
  ]);
});

test("prints one line a test and the sum", () => {
  expect(formatReport(parseReport(output)).split("\n")).toEqual([
    "PASS  TestEchoServer",
    "FAIL  TestAgent_MultipleConn",
    "SKIP  TestSkipped",
    "FAIL  TestCrashes",
    "1 of 4 pass",
  ]);
});
